# SPDX-License-Identifier: LGPL-2.1-or-later
"""programs in PID namespaces"""

import json
import subprocess

from case import GpuTest, Kit

SPACE = ("unshare", "--pid", "--fork", "--kill-child", "--propagation", "unchanged", "--mount-proc")


class Namespaces(GpuTest):
    def test_listed(self):
        """A program in a PID namespace is listed with its PID of the machine"""
        program = self.start(self.root, *SPACE, "cuda-holder", "200", "30", variables={"CUDA_VISIBLE_DEVICES": self.uuid})
        inner = program.ready_pid()
        listed = [process["pid"] for process in self._processes_on_gpus() if Kit.pen.is_ours(process["pid"])]
        self.assertEqual(len(listed), 1, f"NVML lists {listed}")
        (pid,) = listed
        self.assertNotEqual(pid, inner)
        self.assertEqual(self.await_listed(pid)[0], "")
        self.saw(f"PID {inner} in the namespace, {pid} on the machine")

    def test_view(self):
        """NVML's list of processes, asked from inside a PID namespace"""
        _, pid = self.hold_outside(self.bob, 200, 20)
        done = subprocess.run([*SPACE, "/usr/bin/python3", "-B", "/kit/look.py"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        inside = [process["pid"] for device in json.loads(done.stdout)["devices"] for process in device.get("processes", ())]
        self.saw(f"PID {pid} on the machine; in the namespace NVML lists {inside or 'none'}")

    def test_environment(self):
        """A program in a PID namespace below an environment belongs to it"""
        if self.alice.run("unshare", "-Ur", "true").returncode:
            self.skipTest("this kernel permits no user namespaces to users")
        program = self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "unshare", "-Ur", *SPACE[1:],
                             "cuda-holder", "200", "20")
        program.ready_pid()
        (environment,) = self.service.environments()
        (pid,) = [process["pid"] for process in self._processes_on_gpus() if Kit.pen.is_ours(process["pid"])]
        self.await_member(pid, environment["id"])
