# SPDX-License-Identifier: LGPL-2.1-or-later
"""Isolation for tests on the private bus: the real gate of genv-isolation in front of artificial device nodes, for the
processes of the test only.

The test moves into a control group of its own, to which the gate applies, and has a BPF file system and device nodes in
the mount namespace of the private bus. The nodes have NVIDIA's major number. If no driver owns that number, an open
that the gate permits fails with ENXIO. An open that the gate refuses always fails with EPERM.
"""

import os
import stat
import subprocess
import tempfile
import unittest

from bus_scenario import AS_USER, BUS_FOLDER, programs
from waiting import until

HERE = os.path.dirname(os.path.realpath(__file__))
NODES = os.path.join(BUS_FOLDER, "nodes")
MAJOR = 195

# Exits with 0 if the node may be opened, 1 if the open is refused.
OPENER = """
import errno, os, sys
try:
    os.open(sys.argv[1], os.O_RDWR)
except OSError as error:
    sys.exit({errno.ENXIO: 0, errno.EPERM: 1}.get(error.errno, f"{sys.argv[1]}: {error}"))
"""


def node(index):
    """Returns the path of a GPU's device node."""
    return os.path.join(NODES, f"nvidia{index}")


def hierarchy():
    """Returns the mount point of control groups of version 2, and the group of this process below it."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        (mounted, *_) = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    with open("/proc/self/cgroup", encoding="utf-8") as groups:
        (own,) = [line.rstrip("\n").partition("::")[2] for line in groups if line.startswith("0::")]
    return mounted, mounted + own


def _join(group):
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write("0")


class NoGate(Exception):
    """This machine does not permit loading a BPF program; the text has the reason."""


def may_open(user, index):
    """Returns whether the kernel lets a user open a GPU's node, whatever the user's variables are."""
    done = subprocess.run([AS_USER, user, "/usr/bin/python3", "-c", OPENER, node(index)], capture_output=True, text=True,
                          check=False)
    assert done.stderr == "", done.stderr
    return done.returncode == 0


def isolation_mode():
    """Returns the mode that the service reports as active."""
    done = subprocess.run(["busctl", "--system", "get-property", "dev.genv.Manager", "/dev/genv/Manager",
                           "dev.genv.Manager", "Isolation"], capture_output=True, text=True, check=True)
    return done.stdout.split('"')[1]


def await_isolation(mode):
    until(lambda: isolation_mode() == mode, f"isolation in mode {mode}")


class Gate:
    """The device nodes of some GPUs, and a control group with the gate for this process and its children."""

    def __init__(self, genvd, gpus):
        can_load = subprocess.run([os.path.join(HERE, "..", "service", "isolation", "can-load")], capture_output=True,
                                  text=True, check=False)
        if can_load.returncode != 0:
            raise NoGate(can_load.stdout.strip())
        self.loader = os.path.join(os.path.dirname(genvd), "isolation", "genv-isolation")
        #: Tells the simulation the device numbers of its GPUs.
        self.variables = {"GENV_MOCK_DEVICE_NODES": ",".join(f"{MAJOR}:{index}" for index in range(gpus))}
        self.configuration = os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf.d", "isolation.conf")
        subprocess.run(["mount", "-t", "bpf", "-o", "mode=0700", "bpf", "/sys/fs/bpf"], check=True)
        os.makedirs(NODES, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755,dev", "nodes", NODES], check=True)
        for index in range(gpus):
            os.mknod(node(index), stat.S_IFCHR | 0o666, os.makedev(MAJOR, index))
            os.chmod(node(index), 0o666)
        mounted, self.former_group = hierarchy()
        self.group = tempfile.mkdtemp(prefix="genv-isolated-", dir=mounted)
        _join(self.group)

    def put_up(self, mode, *settings):
        """Does what a boot does with Isolation=MODE and further settings of that section in genvd.conf."""
        os.makedirs(os.path.dirname(self.configuration), exist_ok=True)
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write("\n".join(["[Enforcement]", "Interval=1s", "EnvDevices=yes",
                                  "[Isolation]", f"Isolation={mode}", *settings, ""]))
        self.load()

    def load(self, *arguments):
        """Runs genv-isolation."""
        done = subprocess.run([self.loader, "--control-group", self.group, *arguments], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr

    def take_down(self):
        self.load("--remove")
        os.unlink(self.configuration)

    def close(self):
        for place in (NODES, "/sys/fs/bpf"):
            subprocess.run(["umount", "-l", place], check=True)
        _join(self.former_group)
        until(self._has_left, "the end of what ran in the control group")

    def _has_left(self):
        try:
            os.rmdir(self.group)
        except OSError:
            return False
        return True


class Isolated:
    """A base class to be named before BusTest: each test has a service with active isolation."""

    isolation = "user"  # Isolation= in genvd.conf
    isolation_settings = ()  # further lines of the section

    @classmethod
    def setUpClass(cls):
        try:
            cls.gate = Gate(programs["genvd"], cls.gpus)
        except NoGate as reason:
            raise unittest.SkipTest(f"no gate here: {reason}") from None
        cls.addClassCleanup(cls.gate.close)
        super().setUpClass()

    def setUp(self):
        self.variables = {**self.variables, **self.gate.variables}
        self.addCleanup(self.gate.take_down)
        self.gate.put_up(self.isolation, *self.isolation_settings)
        super().setUp()
        await_isolation(self.isolation)

    def openable(self, user):
        """Returns the indices of the GPUs that a user can open."""
        return [index for index in range(self.gpus) if may_open(user, index)]
