# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared parts of the genvctl tests on the private bus: the real genvd with simulated GPUs, and shells of real users.

A test runs as root inside tests/private_bus/private-bus, which passes all paths in environment variables. No test waits
for a fixed time: each wait is for an expected event, and fails if the event does not come.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest

from waiting import DEADLINE_SECONDS

BUS_FOLDER = os.environ.get("GENV_PRIVATE_BUS", "")
AS_USER = os.path.join(BUS_FOLDER, "as-user")

# Set by main() from the command line.
programs = {"genvd": "", "genvctl": ""}


class Output:
    """The result of a command."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


def read_until(descriptor, pattern, what, text=b""):
    """Reads until the bytes match, and returns everything that was read."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not re.search(pattern, text):
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        try:
            chunk = os.read(descriptor, 65536) if ready else b""
        except OSError:  # a terminal whose other end is closed
            chunk = b""
        if not chunk:
            raise AssertionError(f"{what} did not come; so far: {text.decode(errors='replace')}")
        text += chunk
    return text


class Shell:
    """A bash of a user, set up for genv. It lives until it is closed or killed."""

    def __init__(self, user, home, setup=True):
        err_read, err_write = os.pipe()
        command = ["bash", "--norc", "--noprofile"]
        self.process = subprocess.Popen([AS_USER, user, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=err_write)
        os.close(err_write)
        self.err = err_read
        self.run(f"cd {home}")
        if setup:
            self.run(f'eval "$({programs["genvctl"]} shell --init)"; PS1="$ "')

    def run(self, command):
        """Runs a command in the shell itself and returns how it ended."""
        end = "the-end"
        tell = f"printf '\\n{end} %d\\n' $test_status"
        self.process.stdin.write(f"{command}\ntest_status=$?; {tell}; {tell} >&2\n".encode())
        self.process.stdin.flush()
        pattern = rf"\n{end} (\d+)\n".encode()
        out = read_until(self.process.stdout.fileno(), pattern, f"the end of {command}")
        err = read_until(self.err, pattern, f"the end of {command}")
        status = int(re.search(pattern, out).group(1))
        return Output(status, *(re.sub(pattern, b"", text).decode() for text in (out, err)))

    @property
    def pid(self):
        return int(self.run("echo $BASHPID").out)

    def variable(self, name):
        """Returns a variable's value, None if it is unset."""
        out = self.run(f'[[ -v {name} ]] && printf "set:%s" "${name}"').out
        return out.removeprefix("set:") if out.startswith("set:") else None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.close()

    def close(self):
        if self.process.stdin:
            self.process.stdin.close()
            self.process.wait(DEADLINE_SECONDS)
            self.process.stdout.close()
            os.close(self.err)
            self.process.stdin = None


class Terminal:
    """A program that a user runs on a terminal of its own."""

    def __init__(self, user, *command, **variables):
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.environ.update(variables)
            os.execv(AS_USER, [AS_USER, user, *command])
        self.pid = pid
        self.text = b""

    def expect(self, pattern):
        self.text = read_until(self.descriptor, pattern, pattern, self.text)
        rest = re.search(pattern, self.text).end()
        seen, self.text = self.text[:rest], self.text[rest:]
        return seen.decode()

    def type(self, line):
        os.write(self.descriptor, line.encode() + b"\n")

    def await_hidden_typing(self):
        """Waits until the program has switched the echo off: input that is typed earlier would be discarded."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while termios.tcgetattr(self.descriptor)[3] & termios.ECHO:
            if time.monotonic() > deadline:
                raise AssertionError("nothing asked for a password")
            os.sched_yield()

    def finish(self):
        """Returns all output until the program ends, and its status."""
        text = self.text
        while True:
            try:
                chunk = os.read(self.descriptor, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), text.decode()


class BusTest(unittest.TestCase):
    """Each test has its own service with four simulated GPUs."""

    gpus = 4
    variables = {}  # variables of the service, in addition to those of the test
    maxDiff = None

    def setUp(self):
        self.shells = []
        self.service = None
        for user in ("alice", "bob", "carol"):
            for folder in (".genv", "project"):
                shutil.rmtree(os.path.join(BUS_FOLDER, "home", user, folder), ignore_errors=True)
        self.start_service()

    def tearDown(self):
        for shell in self.shells:
            shell.close()
        self.stop_service()

    def start_service(self):
        environment = dict(os.environ, GENV_MOCK_DEVICE_COUNT=str(self.gpus), **self.variables)
        with open(os.path.join(BUS_FOLDER, "genvd.log"), "ab") as log:
            self.service = subprocess.Popen([programs["genvd"]], env=environment, stdout=log, stderr=log)
        subprocess.run(["gdbus", "wait", "--system", "--timeout", str(DEADLINE_SECONDS), "dev.genv.Manager"],
                       check=True)

    def stop_service(self):
        if self.service:
            self.service.terminate()
            self.service.wait(DEADLINE_SECONDS)
            self.service = None

    def shell(self, user, folder=None, setup=True):
        home = os.path.join(BUS_FOLDER, "home", user)
        shell = Shell(user, folder or home, setup)
        self.shells.append(shell)
        return shell

    def ctl(self, user, *arguments, typed=None, **variables):
        """Runs genvctl itself, without the shell function; `typed` is its standard input."""
        command = [programs["genvctl"], *arguments]
        if user != "root":
            assignments = [f"{name}={value}" for name, value in variables.items()]
            command = [AS_USER, user, *(["env", *assignments] if assignments else []), *command]
        done = subprocess.run(command, capture_output=True, text=True, input=typed or "", check=False,
                              env=dict(os.environ, **variables))
        return Output(done.returncode, done.stdout, done.stderr)

    def assert_ok(self, output, out=""):
        """Asserts that a command succeeded and printed exactly this."""
        self.assertEqual((output.status, output.out, output.err), (0, out, ""))

    def assert_failed(self, output, status, message):
        """Asserts that a command failed with this status and printed at most two lines for the user. The first line has
        the message."""
        self.assertEqual(output.status, status, output)
        lines = output.err.splitlines()
        self.assertIn(len(lines), (1, 2), output)
        self.assertTrue(lines[0].startswith("genvctl: "), output)
        self.assertIn(message, lines[0])

    def holders(self):
        """Maps each device index to the ids of the environments that hold it, as every user sees them."""
        devices = json.loads(self.ctl("carol", "devices", "--json").out)
        return {d["index"]: [a["environment"] for a in d["attachments"] if not a["parent"]] for d in devices}


def main():
    if len(sys.argv) < 3 or not BUS_FOLDER:
        sys.exit(f"usage: private-bus ... -- {sys.argv[0]} GENVD GENVCTL [TEST...]")
    programs["genvd"], programs["genvctl"] = (os.path.realpath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
