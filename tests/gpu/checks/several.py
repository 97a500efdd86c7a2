# SPDX-License-Identifier: LGPL-2.1-or-later
"""several GPUs, MIG and MPS, where the machine has them"""

import os

from case import GpuTest
from gpus import look
from service import until


class Several(GpuTest):
    def test_two_gpus(self):
        """Two users on two GPUs see one each"""
        if len(self.usable) < 2:
            self.skipTest("no second GPU is free")
        pids = {}
        for person, gpu in zip((self.alice, self.bob), self.usable):
            program = self.start(person, "genvctl", "run", "--uuid", gpu["uuid"], "--", "cuda-holder", "200", "20")
            pids[gpu["uuid"]] = program.ready_pid()
        for gpu in self.gpus_now():
            if gpu.get("uuid") in pids:
                self.assertEqual([process["pid"] for process in gpu["processes"]], [pids[gpu["uuid"]]])
        self.saw(f"GPUs {', '.join(str(gpu['index']) for gpu in self.usable[:2])}")

    def test_mps(self):
        """A client of an MPS server belongs to its environment"""
        for tool in ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"):
            self.need_tool(tool)
        folder = f"/tmp/home/{self.alice.name}/mps"
        os.makedirs(folder, exist_ok=True)
        os.chown(folder, self.alice.uid, self.alice.uid)
        variables = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder, "CUDA_VISIBLE_DEVICES": self.uuid}
        daemon = self.start(self.alice, "nvidia-cuda-mps-control", "-f", variables=variables)
        until(lambda: os.path.exists(f"{folder}/control") or daemon.status() is not None, "the MPS daemon starts")
        if daemon.status() is not None:
            self.skipTest(f"the MPS daemon ended: {daemon.output.strip()[:120]}")
        program = self.start(self.alice, "genvctl", "run", "--uuid", self.uuid, "--", "env",
                             f"CUDA_MPS_PIPE_DIRECTORY={folder}", "cuda-holder", "200", "20")
        pid = program.ready_pid()
        memory = self.await_member(pid, self.service.environments()[0]["id"])
        self.saw(f"{memory} MiB of the client")


class Mig(GpuTest):
    def setUp(self):
        mig = [device for device in look()["devices"] if device.get("mig")]
        if not mig:
            self.seen = []
            self.skipTest("no GPU is in MIG mode")
        super().setUp()

    def tearDown(self):
        if hasattr(self, "service"):
            super().tearDown()

    def test_instances(self):
        """MIG instances are devices of their own"""
        instances = [device for device in self.service.json("devices") if device["uuid"].startswith("MIG")]
        self.assertTrue(instances)
        self.saw(f"{len(instances)} instances")
