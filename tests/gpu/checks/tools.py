# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv's nvidia-smi and NVML filter, against the real ones"""

import difflib
import json
import re
import subprocess
import xml.etree.ElementTree as ET

from case import GpuTest

SHIM = "/usr/libexec/genv/shims/nvidia-smi"
REAL = "/usr/bin/nvidia-smi"
INSIDE, OUTSIDE = 700, 300  # MiB
# Their output has no process and no reading, and one device selects nothing: with one GPU it is that of the real tool.
SAME = ("-L", "--version", "-h", "topo -m", "nvlink -s", "mig -lgip", "--query-gpu=index,uuid,name --format=csv",
        "--query-gpu=driver_version,pci.bus_id --format=csv,noheader", "-i 0 -L")
# They list processes.
LISTS = ("", "-q", "-q -d PIDS", "-q -x", "pmon -c 1", "pmon -c 1 -s m", "--query-compute-apps=pid --format=csv",
         "--query-compute-apps=pid,process_name,used_memory --format=csv")
# Only the exit status is compared, because each call has other readings.
READINGS = ("-q -d MEMORY", "-q -d UTILIZATION", "dmon -c 1", "--query-gpu=utilization.gpu,temperature.gpu --format=csv",
            "-i 99", "--no-such-option", "--query-gpu=nonsense --format=csv")


class Tools(GpuTest):
    def setUp(self):
        super().setUp()
        self.need_tool("nvidia-smi")
        _, self.inside = self.hold(self.alice, INSIDE, 60, "--name", "train")
        _, self.outside = self.hold_outside(self.bob, OUTSIDE, 60)
        self.await_listed(self.inside)
        self.variables = self.environment_of(self.inside)

    def both(self, mode):
        """Returns what the shim and the real tool do with these arguments, inside the environment."""
        return [self.alice.run(program, *mode.split(), variables=self.variables) for program in (SHIM, REAL)]

    def lists(self, pid, output):
        return re.search(rf"\b{pid}\b", output) is not None

    def test_exit_status(self):
        """nvidia-smi in an environment exits as the real one, in every mode"""
        for mode in (*SAME, *LISTS, *READINGS):
            with self.subTest(mode=mode):
                shim, real = self.both(mode)
                self.assertEqual(shim.returncode, real.returncode, f"nvidia-smi {mode}: {shim.stderr or real.stderr}")
        self.saw(f"{len(SAME) + len(LISTS) + len(READINGS)} modes")

    def test_same_output(self):
        """nvidia-smi prints the same where nothing is hidden"""
        if len(self.gpus_now()) > 1:
            self.skipTest("the environment has one of several GPUs")
        for mode in SAME:
            with self.subTest(mode=mode):
                shim, real = self.both(mode)
                different = [line for line in difflib.ndiff(real.stdout.splitlines(), shim.stdout.splitlines())
                             if line[:1] in "-+"]
                self.assertEqual(different[:4], [], f"nvidia-smi {mode}")
        self.saw(f"{len(SAME)} modes")

    def test_processes(self):
        """nvidia-smi lists the environment's program and not the foreign one"""
        for mode in LISTS:
            with self.subTest(mode=mode):
                shim, real = self.both(mode)
                self.assertTrue(self.lists(self.outside, real.stdout), f"the real nvidia-smi {mode} does not list it")
                self.assertTrue(self.lists(self.inside, shim.stdout), f"nvidia-smi {mode}")
                self.assertFalse(self.lists(self.outside, shim.stdout), f"nvidia-smi {mode}")
        self.saw(f"{len(LISTS)} modes, with a foreign program beside")

    def test_memory(self):
        """nvidia-smi -q -x is well-formed and counts the environment's memory"""
        shim, _ = self.both("-q -x")
        (gpu,) = ET.fromstring(shim.stdout).findall("gpu")
        self.assertEqual(gpu.findtext("uuid"), self.uuid)
        used = int(gpu.findtext("fb_memory_usage/used").split()[0])
        self.assertLessEqual(abs(used - self.driver_memory(self.inside)), 2)
        self.saw(f"{used} MiB, the memory of the environment's program")

    def test_filter(self):
        """The NVML filter shows a program the environment's GPU and processes"""
        self.outside_filter = json.loads(subprocess.run(["/usr/bin/python3", "-B", "/kit/look.py"], capture_output=True,
                                                        text=True, check=True, timeout=60).stdout)
        filtered = self.start(self.alice, "genvctl", "run", "--id", self.variables["GENV_ENVIRONMENT_ID"], "--nvml-filter",
                              "--", "/usr/bin/python3", "-B", "/kit/look.py")
        self.assertEqual(filtered.wait(), 0, filtered.output)
        (device,) = json.loads(filtered.output)["devices"]
        pids = [process["pid"] for process in device["processes"]]
        self.assertEqual(device["uuid"], self.uuid)
        self.assertIn(self.inside, pids)
        self.assertNotIn(self.outside, pids)
        everything = [process["pid"] for each in self.outside_filter["devices"] for process in each.get("processes", ())]
        self.assertIn(self.outside, everything)
        self.saw(f"{len(pids)} of {len(everything)} processes")

    def test_filter_under_tool(self):
        """The real nvidia-smi works under the filter, which it may bypass"""
        done = self.alice.run("genvctl", "run", "--id", self.variables["GENV_ENVIRONMENT_ID"], "--nvml-filter", "--", REAL,
                              "--query-compute-apps=pid", "--format=csv,noheader")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(self.inside), done.stdout.split())
        # It reads NVML's export table. genv's nvidia-smi corrects what comes from there, see data/doc/nvml.md.
        bypasses = str(self.outside) in done.stdout.split()
        self.saw("it lists the foreign program by the export table" if bypasses else "it lists only the environment's program")
