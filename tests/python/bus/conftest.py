# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared parts of the tests on the private bus: the real genvd with simulated GPUs, and Python programs of real users.

The tests run as root inside tests/private_bus/private-bus. No test waits for a fixed time: each wait is for an expected
event, and fails if the event does not come.
"""

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from genv import contract
from genv.connection import Connection
from genv.errors import ServiceUnavailable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "client"))
from waiting import DEADLINE_SECONDS, until  # noqa: E402

BUS_FOLDER = os.environ["GENV_PRIVATE_BUS"]
AS_USER = os.path.join(BUS_FOLDER, "as-user")
GENVD = os.environ["GENV_TEST_GENVD"]
GENVCTL = os.environ["GENV_TEST_GENVCTL"]
LIST_QUEUE = contract.Method(contract.MANAGER, "ListQueue", "", "a(tsuut)")
LIST_ATTACHMENTS = contract.Method(contract.MANAGER, "ListAttachments", "", "a(usstt)")

# The start of every program.
PRELUDE = '''
import json, os, signal, sys, threading, time, warnings
import genv
def say(*values):
    print(*values, flush=True)
def variable(name):
    return os.environ.get(name)
def read(path):
    with open(path) as file:
        return file.read()
def refused(function, *arguments, **named):
    """The type of the error and the first part of its sentence."""
    try:
        function(*arguments, **named)
    except RuntimeError as error:
        assert isinstance(error, genv.Error)
        return type(error).__name__ + ": " + str(error).partition(";")[0]
'''


class Program:
    """A Python program of a user, in parallel with the test."""

    def __init__(self, user, code, **variables):
        assignments = [f"{name}={value}" for name, value in variables.items()]
        command = [AS_USER, user, "env", f"PYTHONPATH={os.environ['PYTHONPATH']}", *assignments,
                   "/usr/bin/python3", "-B", "-W", "always::ResourceWarning", "-c", PRELUDE + textwrap.dedent(code)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)

    def line(self):
        line = self.process.stdout.readline()
        assert line, f"the program ended: {self.process.communicate()}"
        return line.rstrip("\n")

    def tell(self, line=""):
        self.process.stdin.write(line + "\n")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def finish(self):
        """Closes standard input. Returns the exit status and the rest of the output."""
        out, err = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, out, err

    def expect_success(self):
        status, out, err = self.finish()
        assert (status, err) == (0, ""), f"status {status}\n{out}\n{err}"
        return out.splitlines()


class World:
    """A service, and the programs that run in parallel with it."""

    def __init__(self):
        self.programs = []
        self.service = None

    def start(self, **variables):
        environment = dict(os.environ, **{"GENV_MOCK_DEVICE_COUNT": "4", **variables})
        with open(os.path.join(BUS_FOLDER, "genvd.log"), "ab") as log:
            self.service = subprocess.Popen([GENVD], env=environment, stdout=log, stderr=log)
        until(self.is_there, "the service")

    @staticmethod
    def is_there():
        with Connection() as connection:
            try:
                return connection.call_bus(contract.GET_NAME_OWNER, contract.BUS_NAME)
            except ServiceUnavailable:
                return None

    def stop(self, how=signal.SIGTERM):
        if self.service is not None:
            self.service.send_signal(how)
            self.service.wait(DEADLINE_SECONDS)
            self.service = None
            until(lambda: not self.is_there(), "the end of the service")

    def restart(self, how=signal.SIGTERM):
        self.stop(how)
        self.start()

    def restart_bus(self):
        """Restarts the bus, and the service with it."""
        subprocess.run([os.path.join(BUS_FOLDER, "control"), "restart-bus"], check=True)
        self.service.wait(DEADLINE_SECONDS)
        self.start()

    def program(self, user, code, **variables):
        program = Program(user, code, **variables)
        self.programs.append(program)
        return program

    def run(self, user, code, **variables):
        """Runs a program that must succeed without warnings, and returns its lines."""
        return self.program(user, code, **variables).expect_success()

    def hold(self, user, what="gpus=4", consents=False):
        """Starts a program that holds GPUs until it is finished. If it consents, other users may share them."""
        holder = self.program(user, f"""
            with genv.sdk.activate(config=genv.Env.Config(name="held", gpus=0), over_subscribable={consents}) as eid:
                genv.sdk.attach({what})
                say(eid)
                sys.stdin.read()
        """)
        holder.eid = holder.line()
        return holder

    @staticmethod
    def ctl(user, *arguments, **variables):
        """Runs genvctl as a user, or as root, and returns its output."""
        as_user = [] if user == "root" else [AS_USER, user]
        assignments = ["env", *(f"{name}={value}" for name, value in variables.items())]
        return subprocess.run([*as_user, *assignments, GENVCTL, *arguments], check=True, capture_output=True,
                              text=True).stdout

    @staticmethod
    def queue():
        """Returns the waiting environments, first come first."""
        with Connection() as connection:
            return [row[1] for row in connection.call(contract.MANAGER_PATH, LIST_QUEUE)[0]]

    @staticmethod
    def holders():
        """Maps each device index to the ids of the environments that hold it."""
        holders = {}
        with Connection() as connection:
            for row in connection.call(contract.MANAGER_PATH, LIST_ATTACHMENTS)[0]:
                holders.setdefault(row[0], []).append(row[1])
        return holders

    @staticmethod
    def home(user):
        return os.path.join(BUS_FOLDER, "home", user)

    def close(self):
        for program in self.programs:
            program.process.kill()
            program.process.communicate()
        self.stop()


@pytest.fixture
def world():
    for user in ("alice", "bob", "carol"):
        shutil.rmtree(os.path.join(World.home(user), ".genv"), ignore_errors=True)
    created = World()
    try:
        created.start()
        yield created
    finally:
        created.close()
