# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the service from a build, with simulated GPUs, for benchmarks inside tests/private_bus/private-bus."""

import json
import os
import subprocess

BUS_FOLDER = os.environ.get("GENV_PRIVATE_BUS", "")
AS_USER = os.path.join(BUS_FOLDER, "as-user")
NAME, PATH = "dev.genv.Manager", "/dev/genv/Manager"


class Service:
    """genvd with this number of GPUs, until the end of a with statement. Its log is in the bus's folder."""

    def __init__(self, build, devices):
        self.build, self.devices = build, devices
        self.genvctl = os.path.join(build, "client", "genvctl")
        self.process = None
        self.keepers = []

    def __enter__(self):
        with open(os.path.join(BUS_FOLDER, "genvd.log"), "ab") as log:
            self.process = subprocess.Popen([os.path.join(self.build, "service", "genvd")], stdout=log, stderr=log,
                                            env=dict(os.environ, GENV_MOCK_DEVICE_COUNT=str(self.devices)))
        subprocess.run(["gdbus", "wait", "--system", "--timeout", "30", NAME], check=True)
        return self

    def __exit__(self, *_):
        for process in (*self.keepers, self.process):
            process.terminate()
            process.wait()

    def add_environment(self, id, gpus):
        """Adds an environment of root, kept alive by an idle process."""
        self.keepers.append(subprocess.Popen(["tail", "-f", "/dev/null"]))
        self.call(PATH, NAME, "Activate", "a{sv}", "3", "id", "s", id, "pid", "u", str(self.keepers[-1].pid),
                  "gpus", "u", str(gpus))

    @staticmethod
    def calling(path, interface, member, *arguments):
        """Returns the command that makes a call."""
        return ["/usr/bin/busctl", "--system", "call", NAME, path, interface, member, *arguments]

    @classmethod
    def call(cls, *arguments):
        return subprocess.run(cls.calling(*arguments), check=True, capture_output=True, text=True).stdout

    @staticmethod
    def owner():
        """Returns the unique name of the service's connection."""
        reply = subprocess.run(["busctl", "--system", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                "org.freedesktop.DBus", "GetNameOwner", "s", NAME],
                               check=True, capture_output=True, text=True).stdout
        return reply.split('"')[1]

    def write_driver(self, path):
        """Describes the GPUs for the driver library of the tests, with a few processes each."""
        listing = subprocess.run([self.genvctl, "devices", "--json"], check=True, capture_output=True, text=True)
        devices = [{"uuid": device["uuid"], "name": device["model"], "pci": f"00000000:0{device['index'] + 1}:00.0",
                    "memory": {"total": device["total_memory_bytes"], "used": 8, "reserved": 0},
                    "processes": [{"pid": pid, "memory": 1} for pid in range(8)]}
                   for device in json.loads(listing.stdout)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"driver": "550.54.15", "cuda": 12040, "devices": devices}, file)
