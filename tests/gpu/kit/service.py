# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bus, polkit and genvd of the kit."""

import json
import os
import signal
import subprocess
import time

from pen import adopt_orphans

GENVD = "/usr/libexec/genv/genvd"
ISOLATION = "/usr/libexec/genv/genv-isolation"
GUARD = "/kit/bin/nvml-guard.so"
PARK_SOCKET = "/run/genv-park/socket"
HANG = "/tmp/hang"  # the driver hangs while this file exists
CONFIGURATION = "/etc/genv/genvd.conf"
VARIABLES = {"RUNTIME_DIRECTORY": "/run/genv", "CONFIGURATION_DIRECTORY": "/etc/genv", "STATE_DIRECTORY": "/var/lib/genv"}
# Rules warn after the interval and act after the grace: short, so that the checks do not wait.
PACE = "[Enforcement]\nInterval=1s\nGrace=1s\nKillAfter=3s\n"
CALM = PACE + "EnvDevices=no\nEnvMemory=no\n"
START_SECONDS = 60


def until(condition, what, seconds=60):
    """Waits until a condition holds, and returns its value. `what` is a text, or a function that returns one."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(0.02)
    return value


def has_ended(pid):
    """Returns whether a child has ended, and waits for it then."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


class Service:
    def __init__(self, root, pen):
        self._root, self._pen = root, pen
        self._daemons = []
        self.genvd = None

    def start(self):
        for folder in ("/run/dbus", "/run/genv", "/var/lib/genv"):
            os.makedirs(folder, exist_ok=True)
        self._daemons.append(self._root.start("dbus-daemon", "--system", "--nofork", "--nopidfile"))
        until(lambda: os.path.exists("/run/dbus/system_bus_socket"), "the bus starts", START_SECONDS)
        self._daemons.append(self._root.start("/usr/lib/polkit-1/polkitd", "--no-debug"))
        until(lambda: self._owns("org.freedesktop.PolicyKit1"), "polkit starts", START_SECONDS)
        self._daemons.append(self._root.start("/usr/bin/python3", "-B", "/kit/park_socket.py", PARK_SOCKET))
        until(lambda: os.path.exists(PARK_SOCKET), "the socket of genv-park is there", START_SECONDS)
        self.configure(CALM)
        self.start_genvd()

    def _owns(self, name):
        done = self._root.run("dbus-send", "--system", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/",
                              "org.freedesktop.DBus.NameHasOwner", f"string:{name}")
        return "true" in done.stdout

    def start_genvd(self, guarded=False):
        """Starts genvd; if `guarded`, so that its rules cannot reach processes of others, see nvml_guard.cpp."""
        variables = {**VARIABLES, "LD_PRELOAD": GUARD, "GENV_KIT_HANG": HANG}
        if guarded:
            variables["GENV_KIT_GUARD"] = "1"
        if guarded and self._pen.group:
            variables["GENV_KIT_GROUP"] = self._pen.group_path
        self.genvd = self._root.start(GENVD, "--park-socket", PARK_SOCKET, variables=variables)
        self._daemons.append(self.genvd)
        until(self.answers, "genvd starts", START_SECONDS)

    def answers(self):
        if self.genvd.status() is not None:
            raise AssertionError(f"genvd ended with status {self.genvd.status()}: {self.genvd.output.strip()[-500:]}")
        return self._root.run("dbus-send", "--system", "--print-reply", "--dest=dev.genv.Manager", "/dev/genv/Manager",
                              "org.freedesktop.DBus.Peer.Ping").returncode == 0

    def kill_genvd(self):
        """Ends genvd by SIGKILL, and awaits the end of its children."""
        with open(f"/proc/{self.genvd.pid}/task/{self.genvd.pid}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
        adopt_orphans(True)
        os.kill(self.genvd.pid, signal.SIGKILL)
        self.genvd.wait()
        adopt_orphans(False)
        until(lambda: all(has_ended(pid) for pid in children), "the children of genvd end", START_SECONDS)

    def restart_genvd(self, guarded=False):
        self.kill_genvd()
        self.start_genvd(guarded)

    def configure(self, text):
        os.makedirs(os.path.dirname(CONFIGURATION), exist_ok=True)
        with open(CONFIGURATION, "w", encoding="utf-8") as file:
            file.write(text)
        if self.genvd:
            done = self._root.run("dbus-send", "--system", "--print-reply", "--dest=dev.genv.Manager", "/dev/genv/Manager",
                                  "dev.genv.Manager.Reload")
            assert done.returncode == 0, done.stderr

    def json(self, *command):
        """Returns what a command of genvctl prints as JSON."""
        done = self._root.run("genvctl", *command, "--json")
        assert done.returncode == 0, f"genvctl {' '.join(command)}: {done.stderr}"
        return json.loads(done.stdout)

    def processes(self):
        """Returns the compute processes that genvd lists: PID -> (environment or "", MiB)."""
        done = self._root.run("genvctl", "usage", "snapshot", "--type", "processes")
        assert done.returncode == 0, done.stderr
        listed = {}
        for process in json.loads(done.stdout)["processes"]:
            memory = sum(int(use["gpu_memory"].removesuffix("mi")) for use in process["used_gpu_memory"] if use["gpu_memory"])
            listed[process["pid"]] = (process["eid"] or "", memory)
        return listed

    def doctor(self):
        """Returns the findings of genvctl doctor, whose exit status tells of the worst one."""
        return json.loads(self._root.run("genvctl", "doctor", "--json").stdout)

    def environments(self):
        return self.json("envs")

    def logs(self):
        return [daemon.log for daemon in self._daemons]


def processor_ticks(pid):
    """Returns the processor time of a process, in ticks of 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def pid_of(name, is_ours):
    """Returns the PID of the kit's process with this name."""
    done = subprocess.run(["pgrep", "-x", name], capture_output=True, text=True, check=False)
    (pid, *_) = [int(line) for line in done.stdout.split() if is_ours(int(line))]
    return pid
