# SPDX-License-Identifier: LGPL-2.1-or-later
"""a driver that hangs, and a genvd that is killed"""

import contextlib
import os
import time

from case import GpuTest
from service import HANG, until

SAMPLE_AGE = 3_000_000  # µs


class Faults(GpuTest):
    def sampled_at(self):
        (device,) = [each for each in self.service.json("devices") if each["uuid"] == self.uuid]
        return device["sampled"]

    def test_hanging_driver(self):
        """genvd answers while the driver hangs, keeps the holders, and recovers"""
        self.hold(self.alice, 200, 60)
        with open(HANG, "w", encoding="ascii"):
            pass
        self.addCleanup(lambda: contextlib.suppress(FileNotFoundError) and os.path.exists(HANG) and os.unlink(HANG))
        before = self.sampled_at()
        until(lambda: time.time() * 1e6 - self.sampled_at() > SAMPLE_AGE, "samples become old", 30)
        began = time.monotonic()
        self.assertTrue(self.service.answers())
        answered = time.monotonic() - began
        (environment,) = self.service.environments()
        self.assertEqual(environment["user"], "alice")
        os.unlink(HANG)
        until(lambda: self.sampled_at() > before + SAMPLE_AGE, "samples come again", 30)
        self.saw(f"a Ping by dbus-send took {answered * 1000:.0f} ms meanwhile")

    def test_killed_genvd(self):
        """A killed genvd comes back with the holders and their programs"""
        program, pid = self.hold(self.alice, 200, 6, "--name", "train")
        self.service.restart_genvd()
        (environment,) = self.service.environments()
        self.assertEqual((environment["name"], environment["user"]), ("train", "alice"))
        self.await_member(pid, environment["id"])
        self.assertEqual(program.wait(), 0, program.output)
