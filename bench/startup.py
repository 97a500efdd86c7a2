# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the work of a program's run, without noise: libraries, relocations, system calls and calls on the bus."""

import json
import os
import re
import select
import signal
import subprocess
import tempfile


def libraries(arguments):
    """Returns the number of shared libraries that it is linked with, directly or indirectly."""
    listing = subprocess.run(arguments[:1], env={"LD_TRACE_LOADED_OBJECTS": "1"}, check=True, capture_output=True,
                             text=True).stdout
    return sum("=>" in line for line in listing.splitlines())


def relocations(arguments, environment=None):
    """Returns the number of relocations with a symbol lookup in the dynamic linker."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ if environment is None else environment, LD_DEBUG="statistics",
                                LD_DEBUG_OUTPUT=os.path.join(folder, "log")))
        text = ""
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text += file.read()
    # The relocations before main() are printed first.
    return int(re.search(r"number of relocations: (\d+)", text)[1])


def trace(arguments, environment=None):
    """Returns its system calls, one per line, including those of its threads and children."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as file:
        subprocess.run(["strace", "-f", "-qq", "-o", file.name, *arguments], check=True, stdout=subprocess.DEVNULL,
                       env=environment)
        return calls_in(file.read())


class Tracer:
    """Traces a running process in the same way, until stop()."""

    def __init__(self, pid):
        self.file = tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(["strace", "-f", "-o", self.file.name, "-p", str(pid)], stderr=subprocess.PIPE,
                                        text=True)
        while "attached" not in (line := self.process.stderr.readline()):
            if not line:
                raise SystemExit("strace cannot attach")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        with self.file:
            return calls_in(self.file.read())


def calls_in(text):
    return [line for line in text.splitlines() if re.match(r"^\d+ +\w+\(", line)]


STARTS_PROCESS = re.compile(r"^\d+ +(clone3?|v?fork)\(")


def processes_in(calls):
    return sum(bool(STARTS_PROCESS.match(call)) and "CLONE_THREAD" not in call for call in calls)


class BusWatch:
    """Watches all messages on the bus, to count the calls of a command."""

    BEGIN, END = "genv.bench.Begin", "genv.bench.End"

    def __init__(self, service):
        self.owner = service.owner()
        self.monitor = subprocess.Popen(["busctl", "--system", "monitor", "--json=short"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        # busctl of systemd 257 does not report that it listens. It does if it prints a call.
        while not select.select([self.monitor.stdout], [], [], 0.1)[0]:
            self.mark(self.BEGIN)

    @staticmethod
    def mark(interface):
        subprocess.run(["busctl", "--system", "call", "org.freedesktop.DBus", "/", interface, "Mark"], check=False,
                       capture_output=True)

    def calls_of(self, run):
        """Returns the members that were called while `run` ran, without the Hello call and calls of other clients."""
        run()
        self.mark(self.END)
        members = []
        for line in self.monitor.stdout:
            message = json.loads(line)
            if message.get("interface") == self.END:
                sender = message["sender"]
                return [member for who, member in members if who not in (self.owner, sender)]
            if message.get("interface") == self.BEGIN:
                continue
            # Skip calls without a reply, because no process waits for them.
            if message["type"] == "method_call" and not message["flags"] & 1 and message.get("member") != "Hello":
                members.append((message["sender"], message["member"]))
        raise SystemExit("the monitor of the bus has ended")

    def close(self):
        self.monitor.terminate()
        self.monitor.communicate()
