# SPDX-License-Identifier: LGPL-2.1-or-later
"""from a CUDA program to a waiting one, and lingering"""

import os
import statistics
import time

from case import GpuTest
from service import until

NO_DEVICE_FREE = 5


def seconds_in(file):
    with open(file, encoding="ascii") as text:
        return int(text.read()) / 1e9


class Handover(GpuTest):
    def hand_over(self, mib):
        """Hands the GPU from alice, with so much memory, to bob, who takes nearly all of it. Returns the milliseconds between
        the end of her program and the start of his."""
        ended, started = f"/tmp/home/{self.alice.name}/ended", f"/tmp/home/{self.bob.name}/started"
        first = self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "sh", "-c",
                           f"cuda-holder {mib} 1; date +%s%N >{ended}")
        first.ready_pid()
        second = self.start(self.bob, "genvctl", "run", "--uuid", self.uuid, "--wait", "--", "sh", "-c",
                            f"date +%s%N >{started}; exec cuda-holder {self.most_memory} 0")
        self.assertEqual(first.wait(), 0, first.output)
        self.assertEqual(second.wait(), 0, second.output)
        self.assertGreater(seconds_in(started), seconds_in(ended))
        return (seconds_in(started) - seconds_in(ended)) * 1000

    def test_small(self):
        """Hand-over from a program with 1 GB to one with most of the memory"""
        self.saw(f"{self.hand_over(1000):.1f} ms after the program's end")

    def test_large(self):
        """Hand-over from a program with most of the memory"""
        times = [self.hand_over(self.most_memory) for _ in range(3)]
        self.saw(f"{statistics.median(times):.1f} ms after the program's end, with {self.most_memory} MiB")

    def test_empty(self):
        """Start and end of genvctl run without use of the GPU"""
        began = time.monotonic()
        for _ in range(20):
            done = self.alice.run("genvctl", "run", "--uuid", self.uuid, "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.saw(f"{(time.monotonic() - began) * 50:.0f} ms each")

    def test_lingering(self):
        """A GPU stays held until a program that outlives its shell ends"""
        output = f"/tmp/home/{self.alice.name}/left"
        shell = self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "sh", "-c",
                           f"setsid cuda-holder 300 6 >{output} 2>&1 & until grep -q ready {output}; do sleep 0.05; done")
        self.assertEqual(shell.wait(), 0, shell.output)
        (environment,) = self.service.environments()
        self.assertTrue(environment["lingering"])
        refused = self.bob.run("genvctl", "run", "--uuid", self.uuid, "--", "true")
        self.assertEqual(refused.returncode, NO_DEVICE_FREE, refused.stderr)
        (pid,) = environment["pids"]
        until(lambda: not os.path.exists(f"/proc/{pid}"), "the program ends", 30)
        until(lambda: not self.service.environments(), "the environment ends")
        with open(output, encoding="utf-8") as file:
            self.assertIn("done", file.read())
        self.saw("refused to bob meanwhile, free afterwards")
