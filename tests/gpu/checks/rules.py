# SPDX-License-Identifier: LGPL-2.1-or-later
"""every rule on a real CUDA process; only while all GPU processes are the kit's"""

from case import GpuTest
from service import CALM, PACE

LONG = 40  # seconds; a rule must end the program earlier


class Rules(GpuTest):
    acts_on_processes = True

    def assert_ended(self, program):
        """Asserts that a program was ended long before its time."""
        status = program.wait(LONG - 5)
        self.assertNotEqual(status, 0, program.output)
        self.assertNotIn("done", program.output)

    def test_non_env_processes(self):
        """A program outside every environment ends; one inside stays"""
        inside, _ = self.hold(self.alice, 200, 8)
        outside, _ = self.hold_outside(self.bob, 200, LONG)
        self.service.configure(CALM + "NonEnvProcesses=yes\n")
        self.assert_ended(outside)
        self.assertEqual(inside.wait(), 0, inside.output)
        self.saw(f"ended by signal {-outside.status()}")

    def test_env_memory(self):
        """A program over the memory of its share ends; one within it stays"""
        self.service.configure(PACE + "EnvDevices=no\nEnvMemory=yes\n")
        share = f"{self.memory // 4}mi"
        within, _ = self.hold(self.alice, 200, 8, "--gpu-memory", share)
        over, _ = self.hold(self.bob, self.memory // 4 + 300, LONG, "--gpu-memory", share)
        self.assert_ended(over)
        self.assertEqual(within.wait(), 0, within.output)
        self.saw(f"share of {self.memory // 4} MiB, {self.memory // 4 + 300} MiB used")

    def test_env_devices(self):
        """A program on a GPU that its environment does not hold ends"""
        self.service.configure(PACE + "EnvDevices=yes\nEnvMemory=no\n")
        program = self.start(self.bob, "genvctl", "run", "--gpus", "0", "--", "sh", "-c",
                             f"CUDA_VISIBLE_DEVICES={self.uuid} exec cuda-holder 200 {LONG}")
        program.ready_pid()
        self.assert_ended(program)

    def test_limit(self):
        """A limit on the devices of a user takes the GPU and ends the program"""
        program, pid = self.hold(self.alice, 200, LONG)
        self.await_listed(pid)
        done = self.root.run("genvctl", "enforce", "--interval", "0", "--max-devices-per-user", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_ended(program)
        self.saw((done.stdout.splitlines() or [""])[0])

    def test_terminate(self):
        """genvctl terminate ends a program"""
        program, pid = self.hold(self.alice, 200, LONG)
        self.await_listed(pid)
        done = self.root.run("genvctl", "terminate", str(pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_ended(program)
