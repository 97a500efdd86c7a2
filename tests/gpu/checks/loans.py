# SPDX-License-Identifier: LGPL-2.1-or-later
"""a GPU on loan is taken by another's request, and comes back by itself"""

import os
import signal
import time

import parked  # a class that is imported by name would be run here, too
from gpus import GIB
from parking import SECONDS
from service import until


class Loans(parked.Isolated, parked.ParkedEnvironments):
    def setUp(self):
        super().setUp()
        large = self.most_memory > 20480 and parked.host_memory() > 40 * GIB
        self.size = 20480 if large else 512

    def lend(self, size):
        return parked.Environment(self, self.alice, "--memory", str(size), terms=("--preemptible",))

    def comes_back(self, lent):
        """Waits until the program goes on, and returns the seconds."""
        began = time.monotonic()
        until(lambda: lent.state() == "running", "the loan goes on", SECONDS)
        return time.monotonic() - began

    def taken_and_returned(self, size):
        lent = self.lend(size)
        began = time.monotonic()
        other = self.others_program(seconds=2)
        other.ready_pid()
        taken = time.monotonic() - began
        self.assertEqual(lent.state(), "checkpointed")
        self.assertIsNone(self.driver_memory(lent.pid))
        self.assertEqual(other.wait(SECONDS), 0, other.output)
        back = self.comes_back(lent)
        lent.goes_on()
        lent.end_well()
        told = [line for line in other.output.splitlines() if "parking" in line][:1]
        self.saw(f"{size} MiB on loan: {self.most_memory} MiB of bob's after {taken:.2f} s, "
                 f"back {back:.2f} s after his end; bob read: {told}")

    def test_small(self):
        """A request takes the GPU on loan, and the loan goes on by itself with right results"""
        self.taken_and_returned(512)

    def test_large(self):
        """The same with much memory"""
        self.taken_and_returned(self.size)

    def test_canceled(self):
        """A request that is canceled while it takes lets the loan go on"""
        lent = self.lend(self.size)
        other = self.others_program()
        until(lambda: lent.state() != "running", "parking begins")
        os.kill(other.pid, signal.SIGINT)
        other.wait(SECONDS)
        self.saw(f"the loan went on {self.comes_back(lent):.2f} s after bob gave up")
        lent.goes_on()
        lent.end_well()

    def test_managed_memory(self):
        """A loan that cannot be parked is left alone"""
        lent = parked.Environment(self, self.alice, "--memory", "64", "--managed", terms=("--preemptible",))
        other = self.others_program()
        self.assertNotEqual(other.wait(SECONDS), 0, other.output)
        self.saw(" ".join(other.output.split())[-200:])
        self.assertEqual(lent.state(), "running")
        lent.goes_on()
        lent.end_well()

    test_somebody_else_works_meanwhile = test_waits_for_others = None
    test_killed_service = test_ended_program = test_cycles = None
