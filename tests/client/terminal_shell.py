# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real interactive bash, zsh or fish of a user on a terminal of its own, driven line by line.

The shell itself reads a command from a file, so that no terminal editing interferes with the test. The command's output
goes to files. Other text on the terminal comes from prompts and hooks.
"""

import os
import pty
import re
import shlex
import signal

from bus_scenario import AS_USER, BUS_FOLDER, Output, programs, read_until

KINDS = ("bash", "zsh", "fish")

COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    # Without zsh's line editor, which the tests do not need. precmd runs without it as well.
    "zsh": ["zsh", "-f", "-i", "-o", "no_zle"],
    "fish": ["fish", "--no-config", "-i"],
}

SETUP = {
    "bash": 'eval "$({genvctl} shell --init)"; PS1="$ "',
    "zsh": 'eval "$({genvctl} shell --init)"; PS1="$ "',
    "fish": "{genvctl} shell --init | source; function fish_prompt; printf '$ '; end",
}

# Variables that a shell or a test changes by itself.
RESTLESS = re.compile(r"^(BASH|SHELLOPTS|EPOCH|SECONDS|S?RANDOM|LINENO|HISTCMD|PIPESTATUS|FUNCNAME|_$|_=|OLDPWD|TTYIDLE|"
                      r"__genv_|__fish_prompt_status_generation|funcstack|history|status|pipestatus|argv|fish_kill_signal|ZSH_SUBSHELL|ERRNO|CMD_DURATION|"
                      r"jobstates|jobtexts|jobdirs|generation|functions|dis_|modules|parameters|commands|nameddirs|zsh_eval|"
                      r"usergroups|userdirs|options|aliases|galiases|saliases|builtins|reswords|patchars|funcsourcetrace|"
                      r"functions_source|functrace|funcfiletrace|historywords|keymaps|terminfo|termcap|widgets|sysparams|"
                      r"status_generation|fish_read_limit|fish_pid)")


class TerminalShell:
    """A shell, set up for genv unless `setup` is false; `starter` is a command that becomes or starts it."""

    def __init__(self, kind, user, setup=True, wrapper=(), options=(), starter=None, **variables):
        self.kind, self.number, self.loaded = kind, 0, False
        self.news = []
        self.shown, self.rest = "", b""  # the terminal's text until the last end, and the text after it
        self.folder = os.path.join(BUS_FOLDER, "home", user, f"terminal-{os.urandom(6).hex()}")
        os.mkdir(self.folder, 0o777)
        os.chmod(self.folder, 0o777)
        assignments = [f"{name}={value}" for name, value in {"TERM": "dumb", **variables}.items()]
        command = [AS_USER, user, *wrapper, "env", *assignments, *(starter or COMMANDS[kind]), *options]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["LC_ALL"] = "C.UTF-8"
            os.execv(AS_USER, command)
        self.run(f"cd {BUS_FOLDER}/home/{user}")
        if setup:
            self.run(SETUP[kind].format(genvctl=programs["genvctl"]))

    def start(self, command):
        """Types a command without waiting for its end."""
        self.number += 1
        files = [os.path.join(self.folder, name) for name in ("command", "out", "err")]
        with open(files[0], "w", encoding="utf-8") as file:
            file.write(command + "\n")
        status = "$status" if self.kind == "fish" else "$?"
        line = f". {files[0]} >{files[1]} 2>{files[2]}; printf '%s-%s %d\\n' the end-{self.number} {status}"
        os.write(self.terminal, line.encode() + b"\n")

    def finish(self):
        """Waits for the end of the command of start(). `shown` is the text on the terminal until then, prompts
        included."""
        pattern = rf"the-end-{self.number} (\d+)\r?\n".encode()
        text = read_until(self.terminal, pattern, "the end of a command", self.rest)
        end = re.search(pattern, text).end()
        shown, self.rest = text[:end], text[end:]
        self.shown = shown.decode(errors="replace")
        self.news += re.findall(r"genv: [^\r\n]*", self.shown)
        texts = []
        for name in ("out", "err"):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="surrogateescape") as file:
                texts.append(file.read())
        return Output(int(re.search(pattern, shown).group(1)), *texts)

    def run(self, command):
        """Runs a command in the shell itself and returns how it ended."""
        self.start(command)
        return self.finish()

    def replace(self):
        """Replaces the shell by a new one in the same process, as "exec bash" does, and sets it up."""
        os.write(self.terminal, f"exec {' '.join(COMMANDS[self.kind])}\n".encode())
        self.run(SETUP[self.kind].format(genvctl=programs["genvctl"]))

    def prompt(self):
        """Returns genv's lines from the hooks of the prompts since the last call, one new prompt included."""
        self.run("true")
        self.run("true")  # runs after the prompt's hooks
        news, self.news = self.news, []
        return news

    @property
    def pid(self):
        return int(self.run({"bash": "echo $BASHPID", "zsh": "echo $$", "fish": "echo $fish_pid"}[self.kind]).out)

    def variable(self, name):
        """Returns a variable's value, None if it is unset."""
        test = f"set -q {name}; and" if self.kind == "fish" else f"[[ -v {name} ]] &&"
        out = self.run(f'{test} printf "set:%s" "${name}"').out
        return out.removeprefix("set:") if out.startswith("set:") else None

    def assign(self, name, value, exported=False):
        """Sets a variable to this text."""
        if self.kind == "fish":
            word = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            self.run(f"set -g{'x' if exported else ''} {name} {word}")
        else:
            # Commands run by `source` inside a function, but nothing here declares a local variable.
            self.run(f"{name}={shlex.quote(value)}" + (f"; export {name}" if exported else ""))

    def shown_prompt(self):
        return self.run("fish_prompt").out if self.kind == "fish" else self.variable("PS1")

    def path(self):
        return self.run("string join : $PATH" if self.kind == "fish" else 'printf "%s\\n" "$PATH"').out.rstrip("\n").split(":")

    def dump(self):
        """Returns every variable with its attributes, and every function, except genv's own and those that always
        change."""
        if self.kind == "fish":
            # The first dump loads functions, and some of them set variables.
            for _ in range(1 if self.loaded else 2):
                text = self.run(r"set --show; for f in (functions --all --names); printf '\n$%s: function\n' $f; "
                                "functions --no-details $f; end; functions --handlers").out
            self.loaded = True
            blocks = re.split(r"(?m)^(?=\$)", text)
            return [block for block in blocks if not RESTLESS.match(block[1:])]
        if self.kind == "bash":
            text = self.run("declare -p; echo; declare -f; echo 'settings ()'; shopt; set +o").out
            blocks = re.split(r"(?m)^(?=declare )|^(?=\w+ \(\))", text)
        else:
            text = self.run("typeset -p; functions; echo 'settings ()'; setopt").out
            blocks = re.split(r"(?m)^(?=(?:typeset|export) )|^(?=\w+ \(\))", text)
        names = re.compile(r"^(?:(?:declare|typeset|export)(?: [-+][-\w]*)* )?(\w*)")
        return [block for block in blocks if not RESTLESS.match(names.match(block).group(1))]

    def kill(self):
        os.kill(self.process, signal.SIGKILL)
        self.close()

    def close(self):
        if self.process:
            os.close(self.terminal)  # sends a hangup
            try:
                os.kill(self.process, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(self.process, 0)
            self.process = 0
