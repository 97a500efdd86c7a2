# SPDX-License-Identifier: LGPL-2.1-or-later
"""genv-slurm in its unit, started by genvd: the GPUs that Slurm reports. There is no Slurm in the machine: a stub
replaces slurmd, with a recorded answer of a real one. A real Slurm, without systemd, is in tests/slurm."""

import os

from machine import SOURCE
from sandbox import SandboxTest
from scenario import await_that

# The output of slurmd 22.05 on a node whose GPUs 0 and 1 are /dev/nvidia2 and /dev/nvidia3.
RECORDED = os.path.join(SOURCE, "tests", "service", "slurm", "fixtures", "slurm-22.05-simple")
FOLDER = "/usr/local/slurm"
# Does what slurmd does first: without root's groups it fails.
STUB = f'''\
#!/usr/bin/python3 -I
import os, sys
if sys.argv[1:] != ["-G"]:
    sys.exit("slurmd: error: expected -G")
try:
    os.setgroups([])
except OSError as error:
    sys.exit(f"slurmd: fatal: Failed to drop supplementary groups, setgroups: {{error.strerror}}")
with open("{FOLDER}/answer", encoding="utf-8") as file:
    print(file.read(), end="")
'''
NODES = [f"/dev/nvidia{minor}" for minor in range(4)]
UNIT_FILE = "/etc/systemd/system/genvd.service.d/test-slurm.conf"
UNIT = f"""\
[Service]
Environment=GENV_MOCK_DEVICE_NODES={",".join(f"195:{minor}" for minor in range(len(NODES)))}
"""
SETTINGS_FILE = "/etc/genv/genvd.conf.d/test-slurm.conf"
SETTINGS = f"""\
[Slurm]
Devices=all
BinDir={FOLDER}/bin
"""
DEVICES = "/run/genv/slurm/devices"


class SlurmDevices(SandboxTest):
    """genv-slurm.socket and genv-slurm@.service, on a node whose four GPUs have device nodes."""

    def setUp(self):
        super().setUp()
        with open(RECORDED, encoding="utf-8") as file:
            self.machine.write(f"{FOLDER}/answer", file.read())
        self.machine.write(f"{FOLDER}/sbin/slurmd", STUB, 0o755)
        self.addCleanup(self.machine.must, ["rm", "-r", FOLDER])
        for minor, node in enumerate(NODES):
            self.machine.must(["mknod", "--mode=666", node, "c", "195", str(minor)])
        self.addCleanup(self.machine.must, ["rm", *NODES])
        self.addCleanup(self.without_slurm)
        self.machine.write(UNIT_FILE, UNIT)
        self.machine.write(SETTINGS_FILE, SETTINGS)
        self.machine.must(["systemctl", "daemon-reload"])

    def without_slurm(self):
        self.machine.must(["systemctl", "stop", "genvd"])
        # The folder persists between starts, and other tests know its exact contents.
        self.machine.must(["rm", "-rf", UNIT_FILE, SETTINGS_FILE, os.path.dirname(DEVICES)])
        self.machine.must(["systemctl", "daemon-reload"])
        self.machine.must(["systemctl", "start", "genvd"])

    def requests(self):
        """Returns the number of requests that the socket has accepted since it was started."""
        return int(self.machine.unit("NAccepted", name="genv-slurm.socket"))

    def written(self):
        """Returns the text of the file if it exists."""
        done = self.machine.run(["cat", DEVICES])
        return done.out if done.status == 0 else None

    def log(self):
        identity = self.machine.unit("InvocationID")
        return "\n".join(record["MESSAGE"] for record in self.machine.journal(f"_SYSTEMD_INVOCATION_ID={identity}"))

    def assert_written(self):
        await_that(DEVICES, lambda: self.written() is not None)
        uuids = {device["index"]: device["uuid"] for device in self.json("devices")}
        self.assertEqual(self.written(), f"0 {uuids[2]}\n1 {uuids[3]}\n")

    def test_the_devices_that_slurm_counts_are_written(self):
        before = self.requests()
        self.machine.must(["systemctl", "restart", "genvd"])
        self.assert_written()
        self.assertGreater(self.requests(), before)
        # The hooks read the file, and the task prolog runs as a user.
        self.assertEqual(self.machine.must(["stat", "--format=%a %U", DEVICES]), "644 root\n")

    def test_a_sandbox_that_is_too_narrow_is_told_and_asked_again(self):
        self.drop_in("genv-slurm@.service", "[Service]\nSystemCallFilter=~setgroups setgroups32\n")
        self.machine.must(["systemctl", "restart", "genvd"])
        await_that("the reason", lambda: "Slurm does not list its GPUs of this node: slurmd -G failed: slurmd: fatal: Failed to "
                   "drop supplementary groups, setgroups: Operation not permitted" in self.log())
        self.assertIsNone(self.written())
        self.machine.write("/etc/systemd/system/genv-slurm@.service.d/sandbox-test.conf", "")
        self.machine.must(["systemctl", "daemon-reload"])
        self.assert_written()
