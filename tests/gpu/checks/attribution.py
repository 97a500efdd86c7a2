# SPDX-License-Identifier: LGPL-2.1-or-later
"""which process belongs to which environment, and its memory"""

from case import GpuTest
from service import until

MAX_DIFFERENCE = 2  # MiB
INSIDE, OUTSIDE = 600, 200  # MiB
NO_DEVICE_FREE = 5  # exit status of genvctl


class Attribution(GpuTest):
    def test_processes(self):
        """A program inside an environment and one outside, with their memory"""
        _, inside = self.hold(self.alice, INSIDE, 30, "--name", "train")
        _, outside = self.hold_outside(self.bob, OUTSIDE, 30)
        (environment,) = self.service.environments()
        self.await_member(inside, environment["id"])
        self.await_listed(outside)
        listed = self.service.processes()
        self.assertEqual(listed[outside][0], "")
        for pid in (inside, outside):
            known = self.driver_memory(pid)
            self.assertIsNotNone(known, "the driver does not tell the memory of a process")
            self.assertLessEqual(abs(listed[pid][1] - known), MAX_DIFFERENCE)
        self.assertGreaterEqual(listed[inside][1], INSIDE)
        self.saw(f"{listed[inside][1]} MiB inside, {listed[outside][1]} MiB outside, as the driver says")

    def test_outside(self):
        """genvctl devices shows the program outside, and its user"""
        _, outside = self.hold_outside(self.bob, OUTSIDE, 20)

        def shown():
            (device,) = [each for each in self.service.json("devices") if each["uuid"] == self.uuid]
            return [each for each in device["outside"] if each["pid"] == outside]

        (process,) = until(shown, "genvctl devices shows the process outside")
        self.assertEqual(process["user"], "bob")
        self.saw(f"PID {outside} of {process['user']}")

    def test_held(self):
        """A held GPU is refused to others, and free when the program ends"""
        program, _ = self.hold(self.alice, OUTSIDE, 3)
        refused = self.bob.run("genvctl", "run", "--uuid", self.uuid, "--", "true")
        self.assertEqual(refused.returncode, NO_DEVICE_FREE, refused.stderr)
        self.assertIn("alice", refused.stderr)
        self.assertEqual(program.wait(), 0)
        done = self.bob.run("genvctl", "run", "--uuid", self.uuid, "--wait=10s", "--", "cuda-holder", "100", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.saw(refused.stderr.splitlines()[0].rpartition(": ")[2] or "refused")
