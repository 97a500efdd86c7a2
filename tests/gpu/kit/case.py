# SPDX-License-Identifier: LGPL-2.1-or-later
"""The base of all checks: a GPU to use, users, and the service."""

import contextlib
import os
import time
import unittest

from gpus import look
from people import Program
from service import CALM, until

MIB = 2**20
# The checks take at most this long in all; the rest is skipped then.
MAX_SECONDS = 400
# What a CUDA program uses besides its own allocation: its context. It is a few hundred MiB.
MAX_CONTEXT = 2048


class Kit:
    """What all checks share; main.py fills it."""

    pen = driver = gpus = service = None
    people = {}
    began = time.monotonic()


class GpuTest(unittest.TestCase):
    """A check. Its docstring is its row in the table, and `saw` adds what was seen."""

    needs_cuda = True
    acts_on_processes = False  # rules are in force that end processes

    def setUp(self):
        self.seen = []
        self.service, self.alice, self.bob, self.carol, self.root = (
            Kit.service, *(Kit.people[name] for name in ("alice", "bob", "carol", "root")))
        self._started = []
        if time.monotonic() - Kit.began > MAX_SECONDS:
            self.skipTest(f"the checks before took {MAX_SECONDS} s")
        usable, reasons = Kit.gpus.sorted()
        if not usable:
            self.skipTest("no GPU is free: " + "; ".join(f"GPU {index}: {reason}" for index, reason in reasons.items()))
        self.usable = usable
        self.gpu = usable[0]
        self.uuid = self.gpu["uuid"]
        if self.needs_cuda and not Kit.driver.has_cuda:
            self.skipTest("the machine has no libcuda.so.1")
        if self.acts_on_processes:
            self._require_own_machine()
            self.service.restart_genvd(guarded=True)
            self.addCleanup(self._calm)

    def _require_own_machine(self):
        foreign = Kit.gpus.foreign_processes()
        if foreign:
            self.skipTest(f"process {foreign[0]} of somebody else uses a GPU, and rules may end processes")
        if Kit.gpus.are_unknown():
            self.skipTest("the processes of a GPU cannot be listed, and rules may end processes")

    def _calm(self):
        self.service.configure(CALM)
        self.service.restart_genvd()

    def tearDown(self):
        for program in self._started:
            if program.status() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, 9)
                program.wait()
        own = [process["pid"] for process in self._processes_on_gpus() if Kit.pen.is_ours(process["pid"])]
        for pid in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        until(lambda: not self.service.environments(), "all environments end")
        until(lambda: not any(Kit.pen.is_ours(each["pid"]) for each in self._processes_on_gpus()), "the GPUs are left")

    def _processes_on_gpus(self):
        return [process for gpu in self.gpus_now() for process in gpu.get("processes", ())]

    def gpus_now(self):
        """Returns the devices of look() now."""
        return look()["devices"]

    def saw(self, text):
        self.seen.append(text)

    @property
    def memory(self):
        """The memory of the GPU in MiB."""
        return self.gpu["total"] // MIB

    @property
    def most_memory(self):
        """An allocation of nearly all of it."""
        return (self.gpu["total"] - self.gpu["used"]) // MIB - MAX_CONTEXT

    def start(self, person, *command, variables=None) -> Program:
        program = person.start(*command, variables=variables)
        self._started.append(program)
        return program

    def hold(self, person, mib, seconds, *options):
        """Starts a CUDA program in an environment with the GPU, and returns it and its PID."""
        program = self.start(person, "genvctl", "run", "--uuid", self.uuid, *options, "--", "cuda-holder", str(mib), str(seconds))
        return program, program.ready_pid()

    def hold_outside(self, person, mib, seconds):
        """Starts a CUDA program outside any environment, and returns it and its PID."""
        program = self.start(person, "cuda-holder", str(mib), str(seconds), variables={"CUDA_VISIBLE_DEVICES": self.uuid})
        return program, program.ready_pid()

    def environment_of(self, pid):
        """Returns the variables of a process."""
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
        return {name.decode(): value.decode(errors="replace") for name, _, value in pairs}

    def driver_memory(self, pid):
        """Returns how many MiB the driver says that a process uses, or None."""
        for process in self._processes_on_gpus():
            if process["pid"] == pid and process["memory"] is not None:
                return process["memory"] // MIB
        return None

    def await_listed(self, pid):
        """Waits until genvd lists a process, and returns its environment and memory."""
        return until(lambda: self.service.processes().get(pid), f"genvd lists process {pid}")

    def await_member(self, pid, environment):
        """Waits until genvd lists a process in an environment, and returns its memory. A process that genvd has not read yet
        is listed without one."""
        listed = {}

        def belongs():
            listed.update(self.service.processes())
            return listed.get(pid, ("", 0))[0] == environment
        until(belongs, lambda: f"process {pid} belongs to environment {environment}; last listed as {listed.get(pid)}")
        return listed[pid][1]

    def need_tool(self, name):
        if name not in Kit.driver.tools:
            self.skipTest(f"the machine has no {name}")
