# SPDX-License-Identifier: LGPL-2.1-or-later
"""A terminal for tests and pictures of programs that draw a screen."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "client"))
sys.dont_write_bytecode = True

from bus_scenario import AS_USER, BUS_FOLDER, DEADLINE_SECONDS  # noqa: E402
from waiting import until  # noqa: E402


class Tmux:
    """A terminal that shows the output of a user's command, and then its exit status."""

    def __init__(self, user, *command, size=(80, 24), **variables):
        self.folder = tempfile.mkdtemp(dir=BUS_FOLDER)
        self.tmux = ["tmux", "-S", os.path.join(self.folder, "socket"), "-f", "/dev/null"]
        assignments = [f"{name}={value}" for name, value in {"LC_ALL": "C.UTF-8", **variables}.items()]
        words = [AS_USER, user, "env", *assignments, *command]
        self.settings_file = os.path.join(self.folder, "settings")
        script = '"$@"; status=$?; stty -a >"$0"; echo "ended with $status"; exec cat'
        self.run("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "sh", "-c", script,
                 self.settings_file, *words)

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], check=True, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def text(self):
        return self.run("capture-pane", "-p")

    def await_text(self, pattern):
        """Waits until the terminal shows a text, and returns everything that it shows then."""
        shown = []

        def found():
            shown[:] = [self.text()]
            return re.search(pattern, shown[0])

        try:
            until(found, pattern, DEADLINE_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{shown[0]}") from None
        return shown[0]

    def type(self, *keys):
        """Presses keys, given by their names, such as Down."""
        self.run("send-keys", *keys)

    def write(self, text):
        self.run("send-keys", "-l", text)

    def row_of(self, pattern):
        """Returns the number of the first line that matches, from 0."""
        return next(row for row, line in enumerate(self.text().splitlines()) if re.search(pattern, line))

    def press_button(self, button, column, row, times=1, then=""):
        """Presses and releases a button of the mouse at this place, counted from 0, as a terminal reports it. Types a
        text in the same moment."""
        if self.flag("mouse_sgr_flag") == "1":
            report = "".join(f"\x1b[<{button};{column + 1};{row + 1}{end}" for end in "Mm").encode()
        else:
            report = b"".join(b"\x1b[M" + bytes(32 + number for number in (code, column + 1, row + 1))
                              for code in (button, 3))
        self.run("send-keys", "-H", *(f"{byte:02x}" for byte in report * times + then.encode()))

    def flag(self, name):
        return self.run("display-message", "-p", f"#{{{name}}}").strip()

    def resize(self, columns, rows):
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def process(self, name):
        """Returns the PID of the program with this name on the terminal."""
        out = subprocess.run(["pgrep", "-x", "-t", self.flag("pane_tty").removeprefix("/dev/"), name],
                             capture_output=True, text=True, check=True).stdout
        return int(out)

    def settings(self):
        """Returns the output of stty about the terminal after the end of the command."""
        with open(self.settings_file, encoding="ascii") as file:
            return file.read().split()

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
