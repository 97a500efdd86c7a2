# SPDX-License-Identifier: LGPL-2.1-or-later
"""an environment is parked for others and resumes, with genvctl"""

import json
import os
import re
import signal
import statistics
import time

from case import MIB, GpuTest, Kit
from gpus import GIB
from parking import SECONDS, Parked, ask, resident
from service import ISOLATION, PACE, VARIABLES, until

ISOLATED = PACE + "[Isolation]\nIsolation=user\n"


def host_memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1)) * 1024


class Environment(Parked):
    """A cuda-program in an environment with the GPU."""

    def __init__(self, test, person, *options, terms=()):
        super().__init__(test, person, *options,
                         prefix=("genvctl", "run", "--uuid", test.uuid, "--name", "train", *terms, "--"))
        (self.id,) = [each["id"] for each in test.service.environments() if each["user"] == person.name]
        test.await_member(self.pid, self.id)

    def do(self, *words):
        """Runs a command of genvctl, and returns it with its seconds."""
        began = time.monotonic()
        done = self.person.run("genvctl", *words, "--id", self.id, seconds=SECONDS)
        return done, time.monotonic() - began

    def must_do(self, *words):
        done, seconds = self.do(*words)
        self.test.assertEqual(done.returncode, 0, f"{words}: {done.stdout} {done.stderr}")
        return seconds

    def state(self):
        answer, _ = self.call("state")
        return answer.get("state")


class ParkedEnvironments(GpuTest):
    def setUp(self):
        super().setUp()
        answer, _ = ask({"call": "capability"})
        if not answer.get("functions"):
            self.skipTest(f"the driver has no checkpoints: {answer}")
        large = self.most_memory > 20480 and host_memory() > 40 * GIB
        self.size, self.cycles = (20480, 20) if large else (512, 3)

    def others_program(self, seconds=1):
        """Runs a program of bob's that needs nearly all of the memory."""
        return self.start(self.bob, "genvctl", "run", "--uuid", self.uuid, "--", "cuda-holder", str(self.most_memory),
                          str(seconds))

    def step_aside_and_return(self):
        train = Environment(self, self.alice, "--memory", str(self.size))
        parked = train.must_do("park")
        self.assertEqual(train.state(), "checkpointed")
        self.assertIsNone(self.driver_memory(train.pid))
        other = self.others_program()
        self.assertEqual(other.wait(SECONDS), 0, other.output)
        resumed = train.must_do("resume", "--wait")
        train.goes_on()
        train.end_well()
        self.saw(f"{self.size} MiB: parked in {parked:.2f} s, resumed in {resumed:.2f} s; meanwhile {self.most_memory} MiB "
                 "of bob's")

    def test_somebody_else_works_meanwhile(self):
        """A parked environment leaves the whole GPU to others, and goes on with right results"""
        self.step_aside_and_return()

    def test_waits_for_others(self):
        """A resume waits for the GPU that somebody else holds"""
        train = Environment(self, self.alice, "--memory", "512")
        train.must_do("park")
        other = self.others_program(seconds=4)
        other.ready_pid()
        done, _ = train.do("resume")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.saw((done.stderr or done.stdout).strip().splitlines()[0])
        train.must_do("resume", "--wait")
        self.assertEqual(other.wait(), 0, other.output)
        train.goes_on()
        train.end_well()

    def test_managed_memory(self):
        """An environment with managed memory is not parked, and says why"""
        train = Environment(self, self.alice, "--memory", "64", "--managed")
        done, _ = train.do("park")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.saw(" ".join((done.stderr or done.stdout).split()))
        self.assertEqual(train.state(), "running")
        train.goes_on()
        train.end_well()

    def test_killed_service(self):
        """A genvd that is killed while it parks leaves a program that goes on"""
        train = Environment(self, self.alice, "--memory", str(min(self.size, 8192)))
        command = self.start(self.alice, "genvctl", "park", "--id", train.id)
        until(lambda: train.state() != "running", "parking begins")
        self.service.restart_genvd()
        command.wait(SECONDS)

        def settled():
            (environment,) = self.service.environments()
            found = (train.state(), bool(environment["devices"]))
            return {("checkpointed", False): "parked", ("running", True): "active"}.get(found)

        state = until(settled, lambda: f"parked or active: {train.state()}, {self.service.environments()}")
        self.saw(f"{state} after the restart; genvctl park: {command.output.strip()[-120:]}")
        if state == "parked":
            train.must_do("resume", "--wait")
        train.goes_on()
        train.end_well()

    def test_ended_program(self):
        """A program that is told to end while its memory moves ends, and its GPU is free"""
        size = 71680 if self.most_memory >= 71680 and host_memory() > 100 * GIB else self.size
        train = Environment(self, self.alice, "--memory", str(size))
        before = resident(train.pid)
        command = self.start(self.alice, "genvctl", "park", "--id", train.id)
        until(lambda: resident(train.pid) > before + size * MIB // 10, "its memory moves")
        began = time.monotonic()
        os.kill(train.pid, signal.SIGTERM)
        train.program.wait(SECONDS)
        ended = time.monotonic() - began
        command.wait(SECONDS)
        self.saw(f"{size} MiB: the program ended after {ended:.2f} s, genvctl park after {time.monotonic() - began:.2f} s")
        other = self.others_program()
        self.assertEqual(other.wait(SECONDS), 0, other.output)

    def test_cycles(self):
        """Parked and resumed many times; the time beyond the driver's own calls"""
        train = Environment(self, self.alice, "--memory", "1024")
        own = []
        for _ in range(5):
            seconds = [train.must(call, state) for call, state in (
                ("lock", "locked"), ("checkpoint", "checkpointed"), ("restore", "locked"), ("unlock", "running"))]
            own.append((seconds[0] + seconds[1], seconds[2] + seconds[3]))
        parked, resumed = [], []
        for _ in range(self.cycles):
            parked.append(train.must_do("park"))
            resumed.append(train.must_do("resume", "--wait"))
            train.goes_on()
        train.end_well()
        self.saw(f"{self.cycles} times")
        for name, times, least in (("park", parked, [each[0] for each in own]), ("resume", resumed, [each[1] for each in own])):
            self.saw(f"{name}: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f}), the driver's calls alone "
                     f"{statistics.median(least):.2f} s")


class Isolated(GpuTest):
    """With Isolation=user in force."""

    acts_on_processes = True  # isolation requires the rule env-devices

    def setUp(self):
        super().setUp()
        if not Kit.pen.group:
            self.skipTest(Kit.pen.absence)
        if not os.path.ismount("/sys/fs/bpf"):
            self.skipTest("the kernel has no BPF file system")
        with open("/etc/genv/genvd.conf", "w", encoding="utf-8") as file:
            file.write(ISOLATED)
        loaded = self.root.run(ISOLATION, "--control-group", Kit.pen.group, variables=VARIABLES)
        if loaded.returncode:
            self.skipTest(loaded.stderr.strip() or "genv-isolation failed")
        self.addCleanup(self.root.run, ISOLATION, "--remove", variables=VARIABLES)
        self.service.configure(ISOLATED)
        until(lambda: self.service.json("isolation", "status")["mode"] == "user", "isolation is in force")


class ParkedUnderIsolation(Isolated, ParkedEnvironments):
    def test_somebody_else_works_meanwhile(self):
        """Under isolation the parked program loses its grant and gets it again"""
        self.step_aside_and_return()

    def test_restore_without_grant(self):
        """Under isolation a restore past genv is refused, and nothing is lost"""
        train = Environment(self, self.alice, "--memory", "512")
        train.must_do("park")
        answer, _ = train.call("restore")
        self.saw(json.dumps(answer))
        self.assertEqual(answer.get("code"), 801)
        train.must_do("resume", "--wait")
        train.goes_on()
        train.end_well()

    test_waits_for_others = test_managed_memory = test_killed_service = test_ended_program = test_cycles = None
