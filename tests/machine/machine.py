#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine that boots: Debian with genv's packages under systemd-nspawn, with logind, polkit, sshd and the journal.

A test runs as root inside tests/machine/machine, which has prepared the root folder and removes everything afterwards.
The machine has no network except its loopback. Its GPUs are simulated, by configuration as an administrator would write
it. Run as a program, also inside tests/machine/machine, it boots a machine with the packages installed and opens a
shell there.
"""

import glob
import json
import os
import pty
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "client"))

from bus_scenario import Output, Shell, Terminal  # noqa: E402
from waiting import DEADLINE_SECONDS, until  # noqa: E402

ROOT = os.environ.get("GENV_MACHINE_ROOT", "")
FOLDER = os.environ.get("GENV_MACHINE_FOLDER", "")
BUILD = os.environ.get("GENV_MACHINE_BUILD", "")
BUS = os.environ.get("GENV_MACHINE_BUS", "daemon")
PACKAGES = os.environ.get("GENV_MACHINE_PACKAGES") or os.path.join(BUILD, "packages")
PASSWORD = "gpu-for-all"  # for all users, set by make-root
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SIMULATED = """\
[GPU]
Backend=simulated
"""
UNIT = """\
[Service]
Environment=GENV_MOCK_DEVICE_COUNT=4 GENV_MOCK_COMPUTE_APPS_PROCESS_NAME=gpu-work
"""

# On a busy machine, polkitd before 123 loses wake-ups, as data/doc/faults.md describes. This library is built only with
# such a polkit.
WAKEUPS = "/usr/local/lib/polkitd_spurious_wakeups.so"
POLKIT_UNIT = f"""\
[Service]
Environment=LD_PRELOAD={WAKEUPS}
"""


def await_that(what, condition, deadline_seconds=DEADLINE_SECONDS):
    """Returns the first true result of the condition."""
    return until(condition, what, deadline_seconds)


class MachineShell(Shell):
    """A bash in the machine that lives until it is closed; its run() returns the result of a command."""

    def __init__(self, command):  # pylint: disable=super-init-not-called
        err_read, err_write = os.pipe()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err_write)
        os.close(err_write)
        self.err = err_read
        self.run("PS1='$ '")


class MachineTerminal(Terminal):
    """A command on a terminal of its own: the test types, and the command runs in the machine."""

    def __init__(self, machine, command):  # pylint: disable=super-init-not-called
        self.machine, self.text = machine, b""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)

    def send(self, keys):
        os.write(self.descriptor, keys)

    def end(self):
        """Closes the terminal as when its window is closed."""
        os.close(self.descriptor)
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)

    def await_hidden_typing(self, tty):
        """Waits until the program on the machine's terminal `tty` has switched the echo off."""
        await_that("a question for a password", lambda: " -echo " in self.machine.run(["stty", "-aF", tty]).out)


class Machine:
    """The machine. There is one at a time; close() ends it, and so does the end of this process.

    `bpf`: its root may attach BPF programs, and containers may run there. /sys/fs/bpf is then a BPF file system,
    which systemd mounts at every boot of a real machine, but not in a container."""

    def __init__(self, bpf=False):
        if not ROOT or not BUILD:
            raise SystemExit("this runs inside tests/machine/machine")
        self.nspawn = None
        self.bpf = bpf
        self.log = os.path.join(FOLDER, "console.log")
        self._prepare_keys()
        wakeups = os.path.join(BUILD, "tests", "private_bus", os.path.basename(WAKEUPS))
        if os.path.exists(wakeups):
            os.makedirs(os.path.dirname(self.path(WAKEUPS)), exist_ok=True)
            shutil.copy(wakeups, self.path(WAKEUPS))
            self.write("/etc/systemd/system/polkit.service.d/test.conf", POLKIT_UNIT)

    # Its files, whether it runs or not

    @staticmethod
    def path(name):
        return os.path.join(ROOT, name.lstrip("/"))

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def _prepare_keys(self):
        """Permits root to log in as every user, which tests use."""
        os.makedirs(self.path("/root/.ssh"), mode=0o700, exist_ok=True)
        key = self.path("/root/.ssh/id_ed25519")
        subprocess.run(["chroot", ROOT, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519"],
                       check=True, stdin=subprocess.DEVNULL)
        with open(f"{key}.pub", encoding="utf-8") as file:
            public = file.read()
        self.write("/etc/ssh/sshd_config.d/test.conf",
                   "AuthorizedKeysFile /etc/ssh/test_keys\nUseDNS no\nPrintMotd no\nMaxStartups 100\n")
        self.write("/etc/ssh/test_keys", public)
        self.write("/root/.ssh/config", "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"
                   "  LogLevel ERROR\n  KexAlgorithms curve25519-sha256\n")

    def write_configuration(self):
        """Configures simulated GPUs as an administrator would."""
        self.write("/etc/genv/genvd.conf.d/simulated.conf", SIMULATED)
        self.write("/etc/systemd/system/genvd.service.d/simulated.conf", UNIT)

    # Starting and stopping

    def _bpf_options(self):
        """Returns systemd-nspawn's options for `bpf`. The BPF file system is a new one each time."""
        if not self.bpf:
            return ["--system-call-filter=bpf"]
        pins = os.path.join(FOLDER, "bpf")
        os.makedirs(pins, exist_ok=True)
        if os.path.ismount(pins):
            subprocess.run(["umount", pins], check=True)
        subprocess.run(["mount", "-t", "bpf", "-o", "mode=700", "bpf", pins], check=True)
        return ["--system-call-filter=bpf @keyring @mount", "--capability=CAP_BPF,CAP_PERFMON", f"--bind={pins}:/sys/fs/bpf"]

    def boot(self):
        """Starts it and waits until it has booted."""
        with open(self.log, "ab") as log:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--machine=machine", f"--directory={ROOT}",
                 "--boot", "--console=pipe", "--private-network", "--link-journal=no", "--resolv-conf=off", "--timezone=off",
                 *self._bpf_options()],
                env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        self._await_up()

    def _await_up(self):
        def is_up():
            if self.nspawn.poll() is not None:
                raise AssertionError(f"the machine ended: {self.said()}")
            state = self.run(["systemctl", "is-system-running", "--wait"]).out.strip()
            return state in ("running", "degraded")
        await_that("the machine's start", is_up)

    def leader(self):
        """Returns its process 1 in the numbering outside."""
        try:
            with open(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children", encoding="utf-8") as file:
                return file.read().split()[0]
        except (OSError, IndexError):
            return None

    def reboot(self):
        self.must(["systemctl", "reboot"])
        self.nspawn.wait(DEADLINE_SECONDS)  # nspawn leaves the restart to its caller
        self.boot()

    def close(self):
        if self.nspawn and self.nspawn.poll() is None:
            self.nspawn.terminate()
            try:
                self.nspawn.wait(30)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait()
        self.nspawn = None

    # Commands in it

    def enter(self, command):
        """Returns the command line that runs a command in it as root. The command is a list of words, or a line for
        bash."""
        leader = self.leader()
        if leader is None:
            return ["false"]
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        return ["nsenter", f"--target={leader}", "--mount", "--root", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--",
                "env", "--ignore-environment", "--chdir=/", f"PATH={PATH}", "HOME=/root", "USER=root", "LANG=C.UTF-8", "TERM=dumb", *words]

    def run(self, command, typed=None, timeout=DEADLINE_SECONDS):
        """Runs a command as root outside every unit and session, and returns its result."""
        done = subprocess.run(self.enter(command), capture_output=True, input=(typed or "").encode(), check=False,
                              timeout=timeout)
        return Output(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def must(self, command, typed=None, timeout=DEADLINE_SECONDS):
        """Runs a command as root that must succeed, and returns its output."""
        done = self.run(command, typed, timeout)
        if done.status != 0:
            raise AssertionError(f"{command}: {done}")
        return done.out

    def as_user(self, user, command, typed=None):
        """Runs a command as a user without a session, as a cron job does, and returns its result."""
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        return self.run(["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"USER={user}",
                         f"HOME=/home/{user}", *words], typed)

    def ssh_words(self, user, *command, terminal=False):
        return self.enter(["ssh", *(["-tt"] if terminal else ["-T"]), f"{user}@localhost", *command])

    def ssh(self, user):
        """Returns a bash of a user who has logged in over SSH, in a logind session without a seat."""
        return MachineShell(self.ssh_words(user, "exec bash --norc --noprofile"))

    def ssh_terminal(self, user, command):
        """Runs a command of a user who has logged in over SSH with a terminal. It prints the terminal's name first."""
        return MachineTerminal(self, self.ssh_words(user, f"tty; {command}", terminal=True))

    def said(self):
        """Returns the last part of its console output."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def console(self, user):
        """Returns a bash of a user at the machine itself, in an active session on seat0."""
        return MachineShell(self.enter(
            ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--property=User={user}",
             "--property=PAMName=login", "--setenv=XDG_SEAT=seat0", f"--setenv=HOME=/home/{user}",
             f"--working-directory=/home/{user}", "bash", "--norc", "--noprofile"]))

    def unit(self, *properties, name="genvd.service"):
        """Returns properties of a unit as systemctl prints them: the value of one, or a dict of several."""
        out = self.must(["systemctl", "show", *(f"--property={p}" for p in properties), name])
        values = dict(line.partition("=")[::2] for line in out.splitlines())
        return values[properties[0]] if len(properties) == 1 else values

    def journal(self, *matches):
        """Returns the journal's matching records of this boot, each as a dict."""
        out = self.must(["journalctl", "--boot", "--output=json", "--all", "--no-pager", *matches])
        return [json.loads(line) for line in out.splitlines()]

    def restart_polkit(self):
        """Restarts polkit, however often it was restarted before: systemd limits starts to five in ten seconds."""
        self.run(["systemctl", "reset-failed", "polkit"])
        self.must(["systemctl", "restart", "polkit"])

    def account(self):
        """Returns information for finding the cause of a failure."""
        journal = self.run(["journalctl", "--boot", "--no-pager", "--output=short-monotonic", "--lines=120"])
        if journal.status != 0:
            return f"the machine does not answer; its console:\n{self.said()}"
        failed = self.run(["systemctl", "list-units", "--failed", "--no-legend", "--no-pager"]).out
        return f"--- journal\n{journal.out}{journal.err}--- failed units\n{failed}"

    # genv's packages

    def install(self, debs, *options):
        """Installs package files as an administrator does, and returns the result."""
        self.must(["mkdir", "-p", "/root/packages"])
        names = []
        for deb in debs:
            name = f"/root/packages/{os.path.basename(deb)}"
            with open(deb, "rb") as source, open(self.path(name), "wb") as target:
                target.write(source.read())
            names.append(name)
        return self.run(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--quiet", "--yes",
                         "--no-install-recommends", "--option=Dpkg::Use-Pty=0", *options, *names])


def packages():
    """Returns the package files of the build."""
    found = sorted(glob.glob(os.path.join(PACKAGES, "*.deb")))
    found = [deb for deb in found if "-dbgsym_" not in deb]
    if not found:
        raise SystemExit(f"there are no packages in {PACKAGES}: ./dev package makes them")
    return found


def main():
    """Opens a shell there, as root or as a user who has logged in."""
    machine = Machine()
    machine.write_configuration()
    machine.boot()
    print(machine.install(packages()).out)
    user = sys.argv[1] if len(sys.argv) > 1 else None
    print("A shell in the machine; its end is the machine's. Everybody's password is gpu-for-all, admin is in sudo.")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command = machine.ssh_words(user, terminal=True) if user else machine.enter("TERM=linux exec bash -l")
    subprocess.run(command, check=False)
    machine.close()


if __name__ == "__main__":
    main()
