# SPDX-License-Identifier: LGPL-2.1-or-later
"""The users of the checks, and the programs that they run. The users exist only in the kit's root, and have uids without
an account or a process on the machine."""

import os
import re
import subprocess
import time

NAMES = ("alice", "bob", "carol")
UIDS = range(52000, 60000)
BASE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/kit/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
LOGS = "/tmp/programs"


def numbers_in_use():
    """Returns the uids that this machine knows: of accounts, of processes and of blocks for user namespaces."""
    used = set()
    for file, field in (("/host/etc/passwd", 2), ("/host/etc/group", 2)):
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                used.update(int(parts[field]) for line in lines if len(parts := line.split(":")) > field and parts[field].isdigit())
        except OSError:
            pass
    for file in ("/host/etc/subuid", "/host/etc/subgid"):
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                for first, count in re.findall(r":(\d+):(\d+)", lines.read()):
                    used.update(range(max(int(first), UIDS.start), min(int(first) + int(count), UIDS.stop)))
        except OSError:
            pass
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            used.add(os.stat(f"/proc/{pid}").st_uid)
        except OSError:
            pass
    return used


def known_to_directory(uid):
    """Returns whether the machine's user directory, such as LDAP, knows this uid."""
    try:
        return subprocess.run(["chroot", "/host", "/usr/bin/getent", "passwd", str(uid)], capture_output=True, timeout=10,
                              check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def choose_uids():
    used = numbers_in_use()
    for first in UIDS[::10]:
        block = range(first, first + len(NAMES))
        if not any(uid in used or known_to_directory(uid) for uid in block):
            return dict(zip(NAMES, block))
    raise RuntimeError("no uids are free")


def add_accounts(uids):
    """Writes the users into the files of the kit's root, in place of those of an earlier run."""
    for file, line in (("/etc/passwd", "{0}:x:{1}:{1}::/tmp/home/{0}:/bin/bash"), ("/etc/group", "{0}:x:{1}:")):
        with open(file, encoding="utf-8") as old:
            kept = [each for each in old.read().splitlines() if each.split(":")[0] not in NAMES]
        with open(file, "w", encoding="utf-8") as new:
            new.write("\n".join([*kept, *(line.format(name, uid) for name, uid in uids.items())]) + "\n")
    os.makedirs(LOGS, exist_ok=True)
    os.makedirs("/tmp/home", exist_ok=True)
    for name, uid in uids.items():
        os.makedirs(f"/tmp/home/{name}", exist_ok=True)
        os.chown(f"/tmp/home/{name}", uid, uid)


class Program:
    """A running program, with its output in a file."""

    counter = 0

    def __init__(self, user, command, process, log):
        self.user, self.command, self.process, self.log = user, command, process, log

    @property
    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def pid(self):
        return self.process.pid

    def status(self):
        """Returns the exit status, negative for a signal, or None."""
        return self.process.poll()

    def wait(self, seconds=60):
        self.process.wait(seconds)
        return self.process.returncode

    def ready_pid(self, seconds=60):
        """Waits until cuda-holder is ready, and returns its PID."""
        return int(self.await_text(r"^ready (\d+)$", seconds).group(1))

    def await_text(self, pattern, seconds=60):
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.output, re.M)):
            if self.status() is not None and not re.search(pattern, self.output, re.M):
                raise AssertionError(f"{self} ended with status {self.status()}: {self.output.strip()[-300:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self} did not print {pattern!r} in {seconds} s: {self.output.strip()[-300:]}")
            time.sleep(0.02)
        return found

    def __str__(self):
        return f"{self.user}: {' '.join(self.command)}"


class Person:
    """A user of the machine, or root."""

    def __init__(self, name, uid, pen):
        self.name, self.uid, self._pen = name, uid, pen

    def _become(self):
        self._pen.enter()
        if self.uid:
            os.setgroups([])
            os.setresgid(self.uid, self.uid, self.uid)
            os.setresuid(self.uid, self.uid, self.uid)
        self._pen.die_with_parent()

    def variables(self, more):
        return {**BASE, "HOME": f"/tmp/home/{self.name}" if self.uid else "/root", "USER": self.name, "LOGNAME": self.name,
                "SHELL": "/bin/bash", **(more or {})}

    def start(self, *command, variables=None):
        """Starts a program; `variables` come on top of those of a login."""
        Program.counter += 1
        log = f"{LOGS}/{Program.counter:03}-{self.name}-{os.path.basename(command[0])}"
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd="/tmp",
                                       env=self.variables(variables), preexec_fn=self._become, start_new_session=True)
        return Program(self.name, command, process, log)

    def run(self, *command, variables=None, seconds=60):
        """Runs a program to its end, and returns it, with separate output and errors."""
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", cwd="/tmp",
                              env=self.variables(variables), preexec_fn=self._become, timeout=seconds, check=False)
