# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loans: alice's sweep fills eight GPUs, bob's request takes two of them, and her programs go on when he is done. The
kernel guards the GPUs (Isolation=user), and the programs use stand-ins for NVIDIA's libraries."""

import json
import sys
import time

import ways_in
from cuda_driver import PROGRAM, CudaDriver, is_built
from isolation import LOADER
from sandbox import MANAGER, SandboxTest
from scenario import await_that

GPUS = 8
NODES = {**{f"/dev/nvidia{number}": (195, number) for number in range(GPUS)}, "/dev/nvidiactl": (195, 255)}
CONFIGURATION = "/etc/genv/genvd.conf.d/zz-loans.conf"
SETTINGS = f"""\
[Limits]
MaxDevicesPerUser=2
MaxPreemptibleDevices={GPUS}
[Enforcement]
Interval=1s
[Isolation]
Isolation=user
"""
RESULTS = "/home/alice/sweep"
# Each program compares its memory with what it wrote, in every step and at the end.
TASK = f"sh -c 'cd {RESULTS} && exec env {PROGRAM} --memory 256 --progress {{}}.steps >{{}}.out 2>&1'"
TAKER = f"genvctl run --gpus 2 -- env {PROGRAM} --devices 2 --memory 512"


class Loans(SandboxTest):
    def setUp(self):
        super().setUp()
        if not is_built():
            self.skipTest("the stand-ins for NVIDIA's libraries are not built: ninja fake_cuda fake_nvml cuda_program")
        ways_in.prepare(NODES)
        self.addCleanup(ways_in.remove, NODES)
        # No module of the kernel has registered the driver's name for its nodes.
        self.drop_in("genv-nvml@.service", "[Service]\n" + "".join(f"DeviceAllow={node} rw\n" for node in NODES))
        self.driver = CudaDriver(self.machine, GPUS, nodes=True)
        self.addCleanup(self.driver.close)
        self.addCleanup(self.restart_loader)
        self.addCleanup(self.machine.must, ["rm", "-rf", CONFIGURATION, RESULTS, "/home/alice/.local/state/genv"])
        self.addCleanup(self.machine.run, ["pkill", "-KILL", "-x", "cuda-program"])
        self.machine.write(CONFIGURATION, SETTINGS)
        self.restart_loader()
        self.driver.serve()
        await_that("isolation", lambda: self.machine.run(
            ["busctl", "get-property", *MANAGER, "dev.genv.Manager", "Isolation"]).out == 's "user"\n')
        await_that("the GPUs", lambda: len(self.json("devices")) == GPUS)
        self.began = time.monotonic()

    def restart_loader(self):
        # systemd limits starts to 5 in ten seconds.
        self.machine.must(["systemctl", "reset-failed", LOADER])
        self.machine.must(["systemctl", "restart", LOADER])

    # The transcript

    def say(self, text):
        for line in text.rstrip("\n").splitlines():
            sys.stderr.write(f"\n{time.monotonic() - self.began:8.2f} s  {line}")

    def typed(self, shell, user, command):
        """Runs a command that must succeed, and prints it as it looks to its user."""
        self.say(f"{user}$ {command}")
        done = shell.run(command)
        self.say(done.out + done.err)
        self.assertEqual(done.status, 0, done)
        return done.out

    # What there is

    def environments(self):
        """Maps the id of each environment to its properties on the bus."""
        told = json.loads(self.machine.must(["busctl", "--json=short", "call", *MANAGER, "org.freedesktop.DBus.ObjectManager",
                                             "GetManagedObjects"]))["data"][0]
        found = [{name: value["data"] for name, value in interfaces["dev.genv.Environment"].items()}
                 for interfaces in told.values() if "dev.genv.Environment" in interfaces]
        return {each["Id"]: each for each in found}

    def parked(self):
        """Returns the ids of the parked environments, each with the user whose request parked it."""
        return {name: each["TakenBy"] for name, each in self.environments().items() if each["State"] == "parked"}

    def steps(self):
        """Returns the number of steps of each of alice's programs."""
        told = self.machine.run(f"cd {RESULTS} && for n in $(seq {GPUS}); do cat $n.steps || echo 0; done")
        return [int(line) for line in told.out.split()]

    def await_steps(self, count):
        """Waits until this number of alice's programs have made further steps, and returns their numbers."""
        before = self.steps()
        def moved():
            return [number for number, (old, new) in enumerate(zip(before, self.steps()), 1) if new > old]
        await_that(f"steps of {count} programs", lambda: len(moved()) >= count)
        return moved()

    def end(self, user):
        """Lets the programs of a user compare all their memory, and end."""
        self.machine.must(["pkill", "-USR1", "-u", user, "-x", "cuda-program"])

    def test_a_sweep_lends_its_gpus_and_goes_on(self):
        alice, bob = self.shell("alice"), self.shell("bob")
        alice.run(f"mkdir {RESULTS}")
        job = self.typed(alice, "alice", f"genvctl submit --preemptible --array 1-{GPUS} -- {TASK}").strip()
        await_that("a program on each GPU", lambda: len(self.steps()) == GPUS and min(self.steps()) > 0)
        self.typed(bob, "bob", "genvctl devices")

        self.say(f"bob$ {TAKER}")
        taker = self.background("bob", TAKER)
        self.assertRegex(taker.line(), "^ready ")
        self.say("(bob's program computes on two GPUs)")
        lent = self.parked()
        self.assertEqual(sorted(lent.values()), ["bob", "bob"], lent)
        self.typed(bob, "bob", "genvctl devices")
        told = self.typed(alice, "alice", f"genvctl job {job}")
        self.assertEqual(told.count("running: parked for another request"), 2, told)
        self.typed(alice, "alice", "genvctl queue")
        self.typed(alice, "alice", "genvctl envs")
        # The other six compute, and the parked ones do not.
        self.assertEqual({f"job-{job}.{number}" for number in self.await_steps(GPUS - 2)},
                         set(self.environments()) - set(lent) - set(self.held_by("bob")))
        self.end("bob")
        status, out, err = taker.finish()
        self.say(err + out)
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"^done [1-9]\d*\n$")

        self.await_steps(GPUS)
        self.say("(all of alice's programs compute)")
        self.assertEqual(self.parked(), {})
        self.end("alice")
        self.typed(alice, "alice", f"genvctl wait {job}")
        for result in self.typed(alice, "alice", f"tail -qn1 {RESULTS}/*.out").splitlines():
            self.assertRegex(result, r"^done [1-9]\d*$")
        self.typed(alice, "alice", "genvctl history --kind parked,resumed")

    def held_by(self, user):
        return [name for name, each in self.environments().items() if each["User"] == user]
