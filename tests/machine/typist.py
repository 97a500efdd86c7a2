# SPDX-License-Identifier: LGPL-2.1-or-later
"""A user who has logged in over SSH and types in a real shell on a terminal.

Each prompt ends in a mark that terminals do not show, with the exit status of the previous command. A test recognises
the end of a command by this mark.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from machine import DEADLINE_SECONDS

PS1 = r"PS1='\u\$ \[\e]133;$?\a\]'" + "\n"  # as in each start-up file
PROMPT = re.compile(r"(?:\^C)?(?P<prompt>(?:\([^()]*\) )?\w+[$#]) \x1b\]133;(?P<status>\d+)\x07")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
# Large enough that no line is wrapped, and no pager needs a second page.
ROWS, COLUMNS = 10000, 1000


class Typist:
    """A user's login shell."""

    def __init__(self, machine, user):
        self.user, self.typed, self.text, self.busy = user, "", "", False
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            words = machine.ssh_words(user, terminal=True)
            os.execvp(words[0], words)
        self.prompt, self.status = "", 0
        self.await_prompt()

    @property
    def active(self):
        return self.prompt.startswith("(genv) ")

    def start(self, command):
        """Types a command and does not wait for its end."""
        self.typed, self.text, self.busy = command, "", True
        os.write(self.terminal, command.encode() + b"\n")

    def interrupt(self):
        os.write(self.terminal, b"\x03")

    def run(self, command):
        """Types a command, waits for its end, and returns the terminal's output."""
        self.start(command)
        return self.await_prompt()

    def await_prompt(self):
        """Returns the rest of the command's output. `prompt` and `status` are set from the prompt after it."""
        self._read_until(lambda: PROMPT.search(self.text), "a prompt")
        found = PROMPT.search(self.text)
        self.prompt, self.status = found["prompt"], int(found["status"])
        self.text, self.busy = self.text[:found.start()], False
        return self.output()

    def await_output(self, pattern):
        """Waits until the command's output starts with the pattern."""
        self._read_until(lambda: pattern.match(self.output()), "the output that the page shows")

    def output(self):
        """Returns the command's output, without text before the echo of the command, such as a message about a job."""
        _, _, after = re.sub(r"\r+\n", "\n", self.text).partition(self.typed.split("\n")[0] + "\n")
        return after.split("\n", self.typed.count("\n"))[-1]

    def _read_until(self, condition, what):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            if not ready or not self._read():
                raise AssertionError(f"{self.user}: {self.typed}: {what} did not come; so far:\n{self.text}")

    def _read(self):
        """Reads more output. Returns False at the end of the session."""
        try:
            chunk = os.read(self.terminal, 65536)
        except OSError:
            chunk = b""
        self.text += COLOUR.sub("", self.decoder.decode(chunk))
        return bool(chunk)

    def leave(self):
        """Ends the running program, the shell by `exit`, and the shells from which it was started."""
        try:
            if self.busy:
                self.interrupt()
                self.await_prompt()
            self.start("exit")
            while self._read():
                if PROMPT.search(self.text):
                    self.start("exit")
        except (AssertionError, OSError):  # it hangs, or has ended
            pass
        finally:
            self.hang_up()

    def hang_up(self):
        """Closes the terminal as when its window is closed."""
        if self.pid:
            os.close(self.terminal)
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)
            self.pid = 0
