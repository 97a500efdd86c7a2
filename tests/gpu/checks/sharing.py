# SPDX-License-Identifier: LGPL-2.1-or-later
"""shares of one GPU's memory"""

import json

from case import GpuTest

NO_DEVICE_FREE = 5


class Sharing(GpuTest):
    def test_shares(self):
        """Two users share a GPU by memory; a third share that does not fit is refused"""
        quarter = self.memory // 4
        share = f"{quarter}mi"
        first, one = self.hold(self.alice, quarter // 4, 8, "--gpu-memory", share)
        second, other = self.hold(self.bob, quarter // 4, 8, "--gpu-memory", share)
        owners = {environment["user"]: environment["id"] for environment in self.service.environments()}
        self.await_member(one, owners["alice"])
        self.await_member(other, owners["bob"])
        refused = self.carol.run("genvctl", "run", "--uuid", self.uuid, "--gpu-memory", f"{quarter * 3}mi", "--", "true")
        self.assertEqual(refused.returncode, NO_DEVICE_FREE, refused.stderr)
        self.assertEqual((first.wait(), second.wait()), (0, 0), first.output + second.output)
        self.saw(f"two of {quarter} MiB, and {quarter * 3} MiB refused")

    def test_shown_capacity(self):
        """In a share, the NVML filter shows the share as the memory of the GPU"""
        quarter = self.memory // 4
        done = self.alice.run("genvctl", "run", "--uuid", self.uuid, "--gpu-memory", f"{quarter}mi", "--nvml-filter", "--",
                              "/usr/bin/python3", "-B", "/kit/look.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        (device,) = json.loads(done.stdout)["devices"]
        self.assertLessEqual(abs(device["total"] // 2**20 - quarter), 1)
        self.saw(f"{device['total'] // 2**20} MiB of {self.memory} MiB")
