# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv-park moves the memory of CUDA programs to the host and back"""

import contextlib
import json
import os
import re
import socket
import subprocess
import time

from case import MIB, GpuTest, Kit
from gpus import GIB
from park_sandbox import RESTRICTIONS
from people import BASE
from service import until

HELPER = "/usr/libexec/genv/genv-park"
PROGRAM = "cuda-program"
SECONDS = 120
# What the owner sees without genv-park, as an ordinary process and as one that hides its files in /proc.
PROBE = """
import ctypes, os, sys
libc, pid = ctypes.CDLL(None), int(sys.argv[1])
for dumpable in (1, 0):
    libc.prctl(4, dumpable, 0, 0, 0)
    state = ctypes.c_int(-1)
    cuda = ctypes.CDLL("libcuda.so.1")
    print(f"dumpable {dumpable}: result {cuda.cuCheckpointProcessGetState(pid, ctypes.byref(state))}, state {state.value}")
"""


def start_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def nodes_of(pid):
    """Returns the names of the driver's nodes that a process has open."""
    names = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            names.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return [name for name in names if name.startswith("/dev/nvidia")]


class Parked:
    """A cuda-program of a user, and the calls of genv-park for it."""

    def __init__(self, test, person, *options, prefix=()):
        self.test, self.person = test, person
        self.progress = f"/tmp/home/{person.name}/progress-{time.monotonic_ns()}"
        self.program = test.start(person, *prefix, PROGRAM, "--progress", self.progress, *options,
                                  variables={"CUDA_VISIBLE_DEVICES": test.uuid})
        self.pid = self.program.ready_pid(SECONDS)

    def steps(self):
        with open(self.progress, encoding="ascii") as file:
            return int(file.read().strip() or 0)

    def goes_on(self):
        before = self.steps()
        until(lambda: self.steps() > before, f"{self.program} goes on")

    def end_well(self):
        """Lets the program compare its whole memory."""
        os.kill(self.pid, 10)
        self.program.await_text(r"^done \d+$", SECONDS)
        self.test.assertEqual(self.program.wait(), 0, self.program.output)

    def call(self, name, uid=None, pid=None, timeout=10000, prefix=()):
        """Returns the answer and the seconds that it took."""
        pid = pid or self.pid
        request = {"call": name, "pid": pid, "start": start_time(pid), "uid": self.person.uid if uid is None else uid}
        if name == "lock":
            request["timeout"] = timeout
        return ask(request, prefix)

    def must(self, name, state, **options):
        """Makes a call that leads to a state, and returns its seconds."""
        answer, seconds = self.call(name, **options)
        if answer != {"state": state}:
            told = self.person.run("/usr/bin/python3", "-c", PROBE, str(self.pid))
            self.test.fail(f"{name} gave {answer}; a query by {self.person.name} gave {told.stdout} {told.stderr}")
        return seconds


peaks = []  # MiB of each genv-park and its child


def ask(request, prefix=()):
    own, other = socket.socketpair()
    with own, other:
        began = time.monotonic()
        with open("/tmp/programs/genv-park", "ab") as log:
            process = subprocess.Popen([*prefix, HELPER], stdin=other, stdout=other, stderr=log, env=BASE,
                                       preexec_fn=Kit.pen.enter)
        other.close()
        own.sendall((json.dumps(request) + "\n").encode())
        own.settimeout(SECONDS)
        text = b"".join(iter(lambda: own.recv(4096), b""))
        seconds = time.monotonic() - began
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        peaks.append(usage.ru_maxrss // 1024)
    return (json.loads(text) if text else {"ended": process.returncode}), seconds


class Parking(GpuTest):
    def setUp(self):
        super().setUp()
        answer, _ = ask({"call": "capability"})
        if not answer.get("functions"):
            self.skipTest(f"the driver has no checkpoints: {answer}")

    def park_and_resume(self, mebibytes):
        program = Parked(self, self.alice, "--memory", str(mebibytes))
        before = resident(program.pid)
        nodes = len(nodes_of(program.pid))
        locked = program.must("lock", "locked")
        moved = program.must("checkpoint", "checkpointed")
        self.assertIsNone(self.driver_memory(program.pid))
        self.assertEqual(nodes_of(program.pid), [])
        self.assertGreaterEqual(resident(program.pid) - before, mebibytes * MIB)
        steps = program.steps()
        restored = program.must("restore", "locked")
        self.assertEqual(program.steps(), steps)
        unlocked = program.must("unlock", "running")
        program.goes_on()
        program.end_well()
        self.saw(f"{mebibytes} MiB: lock {locked:.2f} s, checkpoint {moved:.2f} s, restore {restored:.2f} s, unlock "
                 f"{unlocked:.2f} s; {nodes} descriptors of the driver before")

    def test_capability(self):
        """genv-park finds the functions of the driver, and needs little memory itself"""
        answer, seconds = ask({"call": "capability"})
        self.saw(f"CUDA {answer['driver']} after {seconds * 1000:.0f} ms")
        self.assertTrue(answer["library"])
        program = Parked(self, self.alice, "--memory", "4096")
        program.must("lock", "locked")
        program.must("checkpoint", "checkpointed")
        program.must("restore", "locked")
        program.must("unlock", "running")
        self.saw(f"at most {max(peaks)} MiB")
        self.assertLess(max(peaks), 512)  # half of MemoryMax=
        program.end_well()

    def test_one_gigabyte(self):
        """A program with 1 GB is parked, and goes on with right results"""
        self.park_and_resume(1024)

    def test_sandbox(self):
        """The restrictions of genv-park@.service do not keep the driver from it"""
        program = Parked(self, self.alice, "--memory", "64")
        refused = []

        def works(restrictions):
            prefix = ("/usr/bin/python3", "-B", "/kit/park_sandbox.py", ",".join(restrictions))
            for call, state in (("lock", "locked"), ("checkpoint", "checkpointed"), ("restore", "locked"),
                                ("unlock", "running")):
                answer, _ = program.call(call, prefix=prefix)
                if answer != {"state": state}:
                    refused.append(f"{'+'.join(restrictions)}: {call} gave {answer}")
                    for undo in ("restore", "unlock"):
                        program.call(undo)
                    return False
            return True

        if not works(RESTRICTIONS):
            for each in RESTRICTIONS:
                works((each,))
        self.saw("; ".join(refused) or f"with {', '.join(RESTRICTIONS)}")
        program.goes_on()
        program.end_well()
        self.assertEqual(refused, [])

    def test_managed_memory(self):
        """Managed memory cannot be parked; the program goes on"""
        program = Parked(self, self.alice, "--memory", "64", "--managed")
        program.must("lock", "locked")
        answer, _ = program.call("checkpoint")
        self.saw(f"{answer}")
        self.assertEqual(answer, {"fault": "not-supported", "code": 801, "state": "locked"})
        program.must("unlock", "running")
        program.goes_on()
        program.end_well()

    def test_long_kernel(self):
        """A lock gives up during a long kernel; the program goes on"""
        try:
            program = Parked(self, self.alice, "--memory", "64", "--kernel", "8000")
        except AssertionError as error:
            if "cuModuleLoadData" in str(error):
                self.skipTest("the driver does not compile PTX here")
            raise
        answer, seconds = program.call("lock", timeout=1000)
        self.saw(f"{answer} after {seconds:.2f} s")
        self.assertEqual(answer, {"fault": "not-ready", "code": 600, "state": "running"})
        program.goes_on()

    def test_somebody_else(self):
        """A program of somebody else and one without CUDA are refused"""
        program = Parked(self, self.alice, "--memory", "64")
        answer, _ = program.call("lock", uid=self.bob.uid)
        self.assertEqual(answer, {"fault": "owner", "code": 0})
        other = self.start(self.alice, "sleep", "60")
        answer, _ = program.call("lock", pid=other.pid)
        self.saw(f"without CUDA: {answer}")
        self.assertEqual(answer, {"fault": "not-initialized", "code": 3})
        done = self.bob.run("/usr/bin/python3", "-c", PROBE, str(program.pid))
        self.saw(f"bob's own query: {' '.join(done.stdout.split())}")
        self.assertEqual(re.findall(r"result (\d+)", done.stdout), ["304", "304"])
        program.end_well()

    def test_killed_helper(self):
        """A checkpoint whose helper is killed takes effect or does not; the program goes on"""
        program = Parked(self, self.alice, "--memory", "2048")
        program.must("lock", "locked")
        own, other = socket.socketpair()
        with own, other:
            process = subprocess.Popen([HELPER], stdin=other, stdout=other, env=BASE, preexec_fn=Kit.pen.enter)
            own.sendall((json.dumps({"call": "checkpoint", "pid": program.pid, "start": start_time(program.pid),
                                     "uid": self.alice.uid}) + "\n").encode())
            time.sleep(0.5)  # the driver is moving memory
            process.kill()
            process.wait()
        states = []

        def settled():
            answer, _ = program.call("state")
            if not states or states[-1] != answer:
                states.append(answer)
            return answer.get("state") in ("locked", "checkpointed") and len(states) > 0

        until(settled, lambda: f"a state: {states}")
        time.sleep(3)  # a checkpoint that goes on would end
        settled()
        self.saw(f"states {[each.get('state', each) for each in states]}")
        if states[-1] == {"state": "checkpointed"}:
            program.must("restore", "locked")
        program.must("unlock", "running")
        program.goes_on()
        program.end_well()

    def test_twenty_gigabytes(self):
        """A program with 20 GB is parked, and goes on with right results"""
        with open("/proc/meminfo", encoding="ascii") as file:
            available = int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1)) * 1024
        if self.most_memory < 20480 or available < 30 * GIB:
            self.skipTest("the GPU or the host has too little memory")
        self.park_and_resume(20480)
