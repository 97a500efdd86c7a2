# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of a user on a private bus: the real genvd with simulated GPUs, the real systemd --user, and the programs of this
build, which that starts. Tests call dev.genv.Jobs itself.
"""

import glob
import os
import pwd
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "client"))
sys.dont_write_bytecode = True

import dbus  # noqa: E402
import dbus.bus  # noqa: E402
from bus_scenario import AS_USER, BUS_FOLDER, DEADLINE_SECONDS  # noqa: E402
from waiting import until  # noqa: E402

CONTROL = os.path.join(BUS_FOLDER, "control")
ENDED = ("done", "failed", "lost", "canceled")
LOST_NAMES = ("NoReply", "ServiceUnknown", "Disconnected", "NameHasNoOwner", "Spawn", "systemd1")


def data(text):
    return dbus.ByteArray(text.encode("utf-8", "surrogateescape"))


def command_line(pid):
    """Returns the words of a process; [""] if it has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def parent(pid):
    """Returns the PID of a process's parent; 0 if the process has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("PPid:"))
    except (OSError, StopIteration):
        return 0


def processes(program, user):
    """Returns the PIDs of a program that a user runs, without its children of the same name: they become commands, and
    LeakSanitizer's own one must not be killed, because its parent waits for it forever."""
    uid = pwd.getpwnam(user).pw_uid
    found = set()
    for folder in glob.glob("/proc/[0-9]*"):
        pid = int(os.path.basename(folder))
        try:
            owner = os.stat(folder).st_uid
        except OSError:
            continue
        if owner == uid and os.path.basename(command_line(pid)[0]) == program:
            found.add(pid)
    return sorted(pid for pid in found if parent(pid) not in found)


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class Service:
    """The real genvd with simulated GPUs."""

    def __init__(self, program, gpus):
        self.program, self.gpus, self.process = program, gpus, None
        self.configuration = os.path.join(os.environ["CONFIGURATION_DIRECTORY"], "genvd.conf")
        self.start()

    def start(self):
        environment = dict(os.environ, GENV_MOCK_DEVICE_COUNT=str(self.gpus), GENV_MOCK_COMPUTE_APPS_PROCESS_NAME="uses-gpus",
                           GENV_MOCK_COMPUTE_APPS_GPU_MEMORY="42mi")
        with open(os.path.join(BUS_FOLDER, "genvd.log"), "ab") as log:
            self.process = subprocess.Popen([self.program], env=environment, stdout=log, stderr=log)
        subprocess.run(["gdbus", "wait", "--system", "--timeout", str(DEADLINE_SECONDS), "dev.genv.Manager"], check=True)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_SECONDS)

    def configure(self, text):
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(text)
        self.call("Reload")

    def call(self, method, *arguments):
        bus = dbus.bus.BusConnection(os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
        try:
            return bus.call_blocking("dev.genv.Manager", "/dev/genv/Manager", "dev.genv.Manager", method, None, arguments)
        finally:
            bus.close()

    def waiting(self):
        """The environments that wait in the queue."""
        return [str(row[1]) for row in self.call("ListQueue")]

    def environments(self):
        return {str(row[0]): [int(pid) for pid in row[5]] for row in self.call("ListEnvironments")}


class Jobs:
    """Calls dev.genv.Jobs as a user."""

    def __init__(self, user="alice"):
        self.user = user
        self.uid = pwd.getpwnam(user).pw_uid
        self.home = pwd.getpwnam(user).pw_dir
        self.bus = None

    def connect(self):
        os.seteuid(self.uid)
        try:
            self.bus = dbus.bus.BusConnection(f"unix:path=/run/user/{self.uid}/bus")
        finally:
            os.seteuid(0)
        self.bus.set_exit_on_disconnect(False)

    def call(self, method, signature, *arguments):
        if self.bus is None:
            self.connect()
        return self.bus.call_blocking("dev.genv.Jobs", "/dev/genv/Jobs", "dev.genv.Jobs", method, signature, arguments,
                                      timeout=60)

    def repeat(self, method, signature, *arguments):
        """Calls again while genv-jobs is being killed; only for calls that may be made twice."""
        def attempt():
            try:
                return (self.call(method, signature, *arguments),)
            except dbus.DBusException as error:
                if not any(name in error.get_dbus_name() for name in LOST_NAMES):
                    raise
                self.bus = None
                return None
        return until(attempt, f"the reply to {method}")[0]

    @staticmethod
    def options(command, folder, gpus=1, **options):
        words = command if isinstance(command, list) else ["sh", "-c", command]
        values = {"command": dbus.Array([data(word) for word in words], signature="ay"), "folder": data(folder),
                  "environment": dbus.Array([data("PATH=/usr/bin:/bin")], signature="ay")}
        request = {"gpus": dbus.UInt32(gpus)} if gpus else {}
        values["request"] = dbus.Dictionary(request | options.pop("request", {}), signature="sv")
        kinds = {"parallel": dbus.UInt32, "retries": dbus.UInt32, "cpus": dbus.UInt32, "umask": dbus.UInt32,
                 "priority": dbus.Int32, "begin": dbus.UInt64, "memory": dbus.UInt64, "hold": dbus.Boolean,
                 "name": dbus.String, "output": data,
                 "array": lambda rows: dbus.Array([(dbus.UInt32(number), data(value)) for number, value in rows],
                                                  signature="(uay)"),
                 "after": lambda rows: dbus.Array([(dbus.UInt32(job), word) for job, word in rows], signature="(us)")}
        for name, value in options.items():
            values[name] = kinds.get(name, lambda same: same)(value)
        return values

    def submit(self, command, **options):
        return int(self.call("Submit", "a{sv}", self.options(command, options.pop("folder", self.home), **options))[0])

    def change(self, method, job, *tasks):
        return int(self.repeat(method, "uau", dbus.UInt32(job), dbus.Array(tasks, signature="u")))

    def get(self, job):
        return self.repeat("Get", "u", dbus.UInt32(job))

    def list(self):
        return self.repeat("List", "a{sv}", dbus.Dictionary({"all": True}, signature="sv"))

    def tasks(self, job):
        return self.repeat("ListTasks", "uau", dbus.UInt32(job), dbus.Array([], signature="u"))

    def task(self, job):
        return self.tasks(job)[0]

    def state(self, job):
        return str(self.get(job)["state"])

    def until_state(self, job, *states):
        return until(lambda: self.state(job) in states and self.get(job), f"job {job} {states}")

    def until_ended(self, job):
        return self.until_state(job, *ENDED)

    def until_runs(self, job):
        """Waits until a job's command has begun."""
        return until(lambda: self.task(job)["state"] == "running" and self.task(job)["started"] and self.task(job),
                     f"the start of job {job}")

    def log(self, job):
        path = bytes(self.task(job)["log"]).decode()
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


class JobsTest(unittest.TestCase):
    """All tests of a class share genvd and alice's manager."""

    gpus = 2
    service = None
    genvd = ""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.service = Service(cls.genvd, cls.gpus)
        cls.jobs = Jobs("alice")

    @classmethod
    def tearDownClass(cls):
        cls.service.kill()

    def tearDown(self):
        for job in self.jobs.list():
            if job["state"] not in ENDED:
                self.jobs.change("Cancel", int(job["number"]))
        for job in self.jobs.list():
            self.jobs.until_ended(int(job["number"]))
        until(lambda: not self.service.environments(), "the end of all environments")

    def path(self, name):
        return os.path.join(self.jobs.home, name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def until_file(self, name, text):
        until(lambda: self.read(name) == text, f"{text!r} in {name}")


def restart_units(user):
    """Units that were killed often may be started again."""
    subprocess.run([AS_USER, user, "systemctl", "--user", "reset-failed"], check=False, capture_output=True)


def control(*arguments):
    subprocess.run([CONTROL, *arguments], check=True, capture_output=True)


def main():
    if len(sys.argv) < 2 or not BUS_FOLDER:
        sys.exit(f"usage: private-bus ... -- {sys.argv[0]} GENVD [TEST...]")
    JobsTest.genvd = os.path.realpath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
