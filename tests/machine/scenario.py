# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared parts of the tests in the machine: the machine itself, commands in parallel with a test, and state that must
not change.

All tests share one machine, since starting it takes longer than most tests. Each test leaves it without environments
and with the service running in its first configuration.
"""

import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from machine import DEADLINE_SECONDS, Machine, await_that, packages  # noqa: E402

SETUP = 'eval "$(genvctl shell --init)"'
machine = None  # set by boot()


def boot(bpf=False):
    """Boots the machine, without genv."""
    global machine  # pylint: disable=global-statement
    machine = Machine(bpf)
    machine.boot()
    return machine


class Background:
    """A command in the machine, in parallel with the test."""

    def __init__(self, test, command):
        self.process = subprocess.Popen(machine.enter(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, bufsize=1)
        test.addCleanup(self.process.__exit__, None, None, None)  # closes the pipes and waits
        test.addCleanup(self.process.kill)

    def line(self):
        return self.process.stdout.readline()

    def complaint(self):
        return self.process.stderr.readline()

    def finish(self):
        """Closes standard input. Returns the exit status and the rest of the output."""
        out, err = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, out, err


class MachineTest(unittest.TestCase):
    """Runs in the machine with genv's packages installed, four simulated GPUs, and no users logged in."""

    maxDiff = None
    installed = True  # whether the packages must be installed at the start

    def setUp(self):
        if self.installed and machine.run(["sh", "-c", "command -v genvctl"]).status != 0:
            machine.write_configuration()
            done = machine.install(packages())
            self.assertEqual(done.status, 0, done)
        # systemd limits starts to 40 in two minutes, in which many tests may run.
        machine.run(["systemctl", "reset-failed", "genvd"])

    def shell(self, user):
        """Returns a shell of a user who has logged in over SSH, set up for genv."""
        shell = machine.ssh(user)
        self.addCleanup(shell.close)
        done = shell.run(SETUP)
        self.assertEqual((done.status, done.err), (0, ""), done)
        return shell

    def console(self, user):
        """Returns a shell of a user at the machine itself, set up for genv."""
        shell = machine.console(user)
        self.addCleanup(shell.close)
        done = shell.run(SETUP)
        self.assertEqual((done.status, done.err), (0, ""), done)
        return shell

    def background(self, user, command):
        """Starts a command line of a user who logs in over SSH for it, in parallel with the test."""
        return Background(self, machine.ssh_words(user, command)[len(machine.enter([])):])

    def hold(self, user, options="--gpus 1"):
        """Starts a command of a user in an environment of its own that ends when it is finished."""
        holder = self.background(user, f"genvctl run {options} -- sh -c 'echo held; exec cat'")
        self.assertEqual(holder.line(), "held\n")
        return holder

    def ok(self, output):
        """Returns the output of a command that succeeded without writing to standard error."""
        self.assertEqual((output.status, output.err), (0, ""), output)
        return output.out

    def refused(self, output, status, message):
        self.assertEqual(output.status, status, output)
        self.assertIn(message, output.err)

    def json(self, *arguments):
        return json.loads(machine.must(["genvctl", *arguments, "--json"]))

    @staticmethod
    def since_now():
        """Returns the option for events from now on: before a reboot, another environment may have had the same id."""
        return f"--since=@{int(time.time())}"

    def lines(self, *arguments):
        """Returns the output that is one JSON object per line."""
        return [json.loads(line) for line in machine.must(["genvctl", *arguments, "--json=short"]).splitlines()]

    def holders(self):
        """Maps each device index to the ids of the environments that hold it."""
        return {d["index"]: [a["environment"] for a in d["attachments"] if not a["parent"]] for d in self.json("devices")}

    def held(self):
        """Returns the environments that hold any device."""
        return sorted({eid for eids in self.holders().values() for eid in eids})

    def used_by(self, user):
        """Returns how many GPU seconds a user has used, decayed."""
        return sum(row["gpu_seconds"] for row in self.json("report", "--fair") if row["user"] == user)

    def queue(self):
        return [entry["user"] for entry in self.json("queue")]

    @staticmethod
    def snapshot():
        return json.loads(machine.must(["genvctl", "usage", "snapshot"]))

    def state(self):
        """Returns the state that a restart must preserve: environments, the devices of each, and the queue."""
        snapshot = self.snapshot()
        return snapshot["envs"], snapshot["devices"], self.queue()

    def configure(self, text):
        """Adds an administrator's drop-in for this test, which applies at once."""
        def remove():
            machine.must(["rm", "-f", "/etc/genv/genvd.conf.d/test.conf"])
            machine.run(["systemctl", "try-reload-or-restart", "genvd"])
        machine.write("/etc/genv/genvd.conf.d/test.conf", text)
        self.addCleanup(remove)
        machine.must(["systemctl", "reload-or-restart", "genvd"])

    def rule(self, text):
        """Adds a polkit rule for this test, which applies at once."""
        name = "/etc/polkit-1/rules.d/10-test.rules"
        machine.write(name, text)
        machine.restart_polkit()
        self.addCleanup(machine.restart_polkit)
        self.addCleanup(machine.must, ["rm", name])

    def tearDown(self):
        self.doCleanups()
        if self.installed:
            await_that("the end of all environments", lambda: self.json("envs") == [])
            await_that("idle GPUs", lambda: self.snapshot()["processes"]["processes"] == [])


class Result(unittest.TextTestResult):
    """Prints the duration of each test, and after a failure at once the machine's information about it."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s")
        super().stopTest(test)

    def getDescription(self, test):
        return test.id().partition(".")[2]

    def _tell(self, test):
        self.stream.writeln(f"\n{test.id()}: the machine at this moment:\n{machine.account() if machine else ''}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._tell(test)

    def addError(self, test, err):
        super().addError(test, err)
        self._tell(test)


def run(names, classes):
    """Runs the classes' tests in this order, or those with these names, and returns whether all passed."""
    loader = unittest.TestLoader()
    suite = unittest.TestSuite()
    for case in classes:
        for test in loader.loadTestsFromTestCase(case):
            if not names or any(name in test.id() for name in names):
                suite.addTest(test)
    if not suite.countTestCases():
        raise SystemExit(f"there is no test that is called {names}")
    return unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite).wasSuccessful()
