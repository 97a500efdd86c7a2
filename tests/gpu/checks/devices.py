# SPDX-License-Identifier: LGPL-2.1-or-later
"""the devices that genv reports, against nvidia-smi"""

import os
import subprocess
import xml.etree.ElementTree as ET

from case import MIB, GpuTest

MAX_DIFFERENCE = 1  # MiB, because both round


class Devices(GpuTest):
    needs_cuda = False

    def reported(self):
        """Returns what nvidia-smi reports: UUID -> (index, model, total MiB) of GPUs that are not in MIG mode."""
        self.need_tool("nvidia-smi")
        done = subprocess.run(["nvidia-smi", "-q", "-x"], capture_output=True, text=True, timeout=60, check=True)
        devices = {}
        for index, gpu in enumerate(ET.fromstring(done.stdout).findall("gpu")):
            if gpu.findtext("mig_mode/current_mig") != "Enabled":
                total = int(gpu.findtext("fb_memory_usage/total").split()[0])
                devices[gpu.findtext("uuid")] = (index, gpu.findtext("product_name"), total)
        return devices

    def test_devices(self):
        """Devices are those of nvidia-smi -q -x"""
        reported = self.reported()
        listed = {device["uuid"]: device for device in self.service.json("devices")
                  if not device["uuid"].startswith("MIG")}
        self.assertEqual(set(listed), set(reported))
        for uuid, (index, model, total) in reported.items():
            self.assertEqual((listed[uuid]["index"], listed[uuid]["model"]), (index, model))
            self.assertLessEqual(abs(listed[uuid]["total_memory_bytes"] // MIB - total), MAX_DIFFERENCE)
            self.assertEqual(listed[uuid]["health"], "ok")
        (_, model, total) = reported[self.uuid]
        self.saw(f"{len(reported)} GPU{'s' if len(reported) > 1 else ''}; {model}, {total} MiB")

    def test_readings(self):
        """Memory, utilization, temperature and power are read"""
        (device,) = [each for each in self.service.json("devices") if each["uuid"] == self.uuid]
        self.assertIsNotNone(device["used_memory_bytes"])
        self.assertLess(device["used_memory_bytes"], device["total_memory_bytes"])
        known = {name: device[name] for name in ("utilization_percent", "temperature_celsius", "power_milliwatts")}
        self.saw(", ".join(f"{name} {'unknown' if value is None else value}" for name, value in known.items()))

    def test_doctor(self):
        """genvctl doctor finds driver, bus, service and polkit in order"""
        verdicts = {each["check"]: each for each in self.service.doctor()}
        # Some drivers, such as that of WSL, have no kernel module of this machine.
        driver = ["driver"] if os.path.exists("/proc/driver/nvidia/version") else []
        for check in (*driver, "bus", "service", "polkit", "configuration", "versions"):
            self.assertEqual(verdicts[check]["verdict"], "ok", verdicts[check]["found"])
        self.saw(verdicts["driver"]["found"])
