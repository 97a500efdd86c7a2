# SPDX-License-Identifier: LGPL-2.1-or-later
"""The data of the fake NVML, for tests and pictures of the page."""

import json
import os

from bus_scenario import BUS_FOLDER

GIB = 2**30
FILE = os.path.join(BUS_FOLDER, "machine.json")


class Machine:
    def __init__(self, gpus, model="NVIDIA H100 80GB HBM3"):
        self.devices = [{"uuid": f"GPU-{index:08x}-0000-4000-8000-000000000000", "name": model, "pci": f"00000000:{index + 0x41:02x}:00.0",
                         "memory": {"total": 80 * GIB, "used": GIB // 2}, "utilization": 0, "temperature": 31 + index % 5,
                         "power": 70_000 + 1000 * (index % 7), "processes": []} for index in range(gpus)]
        self.write()

    def write(self, **values):
        with open(FILE + ".new", "w", encoding="utf-8") as file:
            json.dump({"driver": "550.54.15", "devices": self.devices, "xids": [], **values}, file)
        os.rename(FILE + ".new", FILE)

    def run(self, index, pid, memory, utilization):
        """Adds a process that computes on a GPU."""
        device = self.devices[index]
        device["processes"].append({"pid": pid, "memory": int(memory * GIB)})
        device["memory"]["used"] = int((memory + 0.5) * GIB)
        device.update(utilization=utilization, temperature=45 + utilization // 4, power=200_000 + utilization * 3500)
        self.write()
