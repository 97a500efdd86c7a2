# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs interactive shells on terminals, and measures the time from a key press to the next prompt."""

import os
import pty
import select
import signal
import tempfile
import time

from private_service import AS_USER, BUS_FOLDER

MARK = b"<ready>"

COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i", "-o", "no_prompt_sp", "-o", "no_prompt_cr"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_PROMPT = {"bash": "PS1='<rea''dy>'", "zsh": "PS1='<rea''dy>'",
              "fish": "function fish_prompt; printf '<%s>' ready; end"}
SET_UP = {"bash": 'eval "$({genvctl} shell --init)"', "zsh": 'eval "$({genvctl} shell --init)"',
          "fish": "{genvctl} shell --init | source"}


class Prompt:
    """A shell of alice, waiting at its prompt."""

    def __init__(self, kind, genvctl=None):
        self.kind = kind
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8")
            os.chdir(os.path.join(BUS_FOLDER, "home", "alice"))
            os.execv(AS_USER, [AS_USER, "alice", *COMMANDS[kind]])
        self.enter(SET_PROMPT[kind])
        if genvctl:
            self.enter(SET_UP[kind].format(genvctl=genvctl))

    def enter(self, line=""):
        """Types a line and returns the time until the next prompt."""
        began = time.perf_counter()
        os.write(self.terminal, line.encode() + b"\n")
        text = b""
        while MARK not in text:
            if not select.select([self.terminal], [], [], 30)[0]:
                raise SystemExit(f"{self.kind}: no prompt after {line!r}: {text!r}")
            text += os.read(self.terminal, 65536)
        took = time.perf_counter() - began
        # A shell may redraw its prompt. Late output must not be mistaken for the next prompt.
        while select.select([self.terminal], [], [], 0.003)[0]:
            text += os.read(self.terminal, 65536)
        self.text = text.decode(errors="replace")
        return took

    def output_of(self, command):
        """Returns the output of a command through a file, because a shell may write anything between prompts."""
        with tempfile.NamedTemporaryFile("r", dir=BUS_FOLDER, encoding="utf-8") as file:
            os.chmod(file.name, 0o666)
            self.enter(f"{command} >{file.name}")
            return file.read()

    def shell_pid(self):
        return int(self.output_of("echo $fish_pid" if self.kind == "fish" else "echo $$"))

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
