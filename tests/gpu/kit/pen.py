# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pen: what all processes of the kit are in, so that all of them end with it.

A process of the kit is in the kit's mount namespace or in its control group. A second process, the sweeper, waits for
the end of the first one, whatever its cause, and ends every process of the kit. Mounts and pinned BPF objects are those
of the mount namespace, and go with its last process.
"""

import contextlib
import ctypes
import os
import signal
import time

GROUPS = "/run/cgroup"  # the cgroup2 file system, mounted by `run` if the kernel has it
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SWEEP_SECONDS = 20
QUIET_LOOKS = 2


def adopt_orphans(wanted):
    """Lets the kernel make this process the parent of its descendants' orphans, or no longer. The first process of some
    containers does not wait for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


class Pen:
    def __init__(self):
        self.group = None
        self.absence = "the kernel has no control groups of version 2"
        if os.path.exists(f"{GROUPS}/cgroup.procs"):
            self._make_group()
        self._life, self._sweeper = self._start_sweeper()

    def _make_group(self):
        group = f"{GROUPS}/genv-gpu-kit-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as error:
            self.absence = f"no control group can be made: {error.strerror}"
            return
        # The root of the hierarchy, which the kit never touches, has no such file.
        if not os.path.exists(f"{group}/cgroup.events"):
            raise RuntimeError(f"{group} is not a control group of the kit's own")
        self.group = group

    @property
    def group_path(self):
        """The path of the kit's group as in the last line of /proc/PID/cgroup, or None."""
        return self.group and "/" + os.path.basename(self.group)

    def enter(self):
        """Moves this process, a new child, into the pen."""
        if self.group:
            with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")

    def die_with_parent(self):
        """Lets the kernel end this process with its parent. A change of the user undoes it, so it comes last."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def is_ours(self, pid):
        """Returns whether a process is the kit's; False if it has ended."""
        try:
            if os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
                return True
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
                lines = file.read().splitlines()
        except OSError:
            return False
        return self.group is not None and any(
            line.startswith("0::") and line.endswith(self.group_path) for line in lines)

    def processes(self):
        """Returns the PIDs of the kit's processes, without this one and the sweeper."""
        spared = {os.getpid(), os.getppid(), self._sweeper} if hasattr(self, "_sweeper") else {os.getpid()}
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if pid not in spared and self.is_ours(pid)]

    def sweep(self):
        """Ends all processes of the kit but this one, and removes the control group."""
        adopt_orphans(True)
        deadline, quiet = time.monotonic() + SWEEP_SECONDS, 0
        # A process that starts during a look at /proc is seen only by the next look.
        while quiet < QUIET_LOOKS and time.monotonic() < deadline:
            left = self.processes()
            self._kill(left)
            self._reap()
            quiet = quiet + 1 if not left and self._remove_group() else 0
            time.sleep(0.02)

    def _kill(self, pids):
        with contextlib.suppress(OSError):  # before Linux 5.14
            if self.group:
                with open(f"{self.group}/cgroup.kill", "w", encoding="ascii") as file:
                    file.write("1")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _reap(self):
        """Waits for children that have ended, but not for the sweeper."""
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            if pid != getattr(self, "_sweeper", None):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _remove_group(self):
        """Returns whether there is no control group any more."""
        with contextlib.suppress(OSError):
            if self.group:
                os.rmdir(self.group)
        return not self.group or not os.path.isdir(self.group)

    def _start_sweeper(self):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(reading)
            return writing, pid
        os.close(writing)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in (0, 1, 2):
            os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
        if not os.read(reading, 1):
            self.sweep()
        os._exit(0)

    def has_sweeper(self):
        return os.waitpid(self._sweeper, os.WNOHANG) == (0, 0)

    def close(self):
        self.sweep()
        os.write(self._life, b"x")  # nothing is left to sweep
        os.close(self._life)
        os.waitpid(self._sweeper, 0)
