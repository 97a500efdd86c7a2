# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the checks in the kit's root, prints their table, and leaves the results in a folder. `run` starts it in a mount
namespace of its own. Exit status: 0 if no check failed, 1 if one failed, 3 if genv cannot be tried here."""

import argparse
import fcntl
import importlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "checks")]

import table  # noqa: E402
from case import Kit  # noqa: E402
from driver import FOLDERS, Driver  # noqa: E402
from gpus import Gpus, Unknown, look  # noqa: E402
from pen import Pen  # noqa: E402
from people import LOGS, Person, add_accounts, choose_uids  # noqa: E402
from service import Service  # noqa: E402

# In the order of the table. The name of a part is that of its module.
PARTS = ("devices", "attribution", "tools", "handover", "sharing", "rules", "isolation", "namespaces", "faults", "cost",
         "frameworks", "several", "parking", "parked", "loans")
CANNOT = 3
RECORDED_IN_PART = 3  # exit status of gpu-recorder
UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


class CannotRun(Exception):
    """genv cannot be tried on this machine; the text has the reason."""


class Stopped(BaseException):
    """A signal asked for the end."""


class Rows(unittest.TestResult):
    """Prints a row after each check."""

    def __init__(self, pen):
        super().__init__()
        self.rows, self._pen, self._began, self._failed_parts = [], pen, 0.0, []

    def startTest(self, test):
        super().startTest(test)
        self._failed_parts = []
        self._began = time.monotonic()
        if not self._pen.has_sweeper():
            raise CannotRun("the process that cleans up has ended")

    def _add(self, test, result, reason=""):
        # Results are published, and a UUID identifies a machine.
        seen = UUID.sub(r"\1-...", "; ".join([*getattr(test, "seen", ()), *([reason] if reason else [])]))
        name = (test.shortDescription() or test.id()).rstrip(".")
        self.rows.append({"part": type(test).__module__, "check": name, "result": result, "seen": seen,
                          "seconds": round(time.monotonic() - self._began, 1)})
        print(table.row(name, result, seen), flush=True)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._failed_parts.append(" ".join(str(err[1]).split()))

    def stopTest(self, test):
        # A test with a failed part is neither a success nor a failure to unittest.
        if self._failed_parts:
            self._add(test, "failed", "; ".join(self._failed_parts))
        super().stopTest(test)

    def addSuccess(self, test):
        self._add(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._add(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._add(test, "failed", " ".join(str(err[1]).split()))

    def addError(self, test, err):
        super().addError(test, err)
        self._add(test, "failed", f"{err[0].__name__}: {' '.join(str(err[1]).split())}")


def flatten(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flatten(each)
        else:
            yield each


def checks_of(parts):
    """Returns the checks of these parts, in the order of their sources."""
    def line_of(test):
        return getattr(test, test._testMethodName).__code__.co_firstlineno

    suite = unittest.TestSuite()
    for part in parts:
        module = importlib.import_module(part)
        suite.addTests(sorted(flatten(unittest.TestLoader().loadTestsFromModule(module)), key=line_of))
    return suite


def wanted(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--record")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("parts", nargs="*")
    return parser.parse_args(argv)


def list_parts():
    for part in PARTS:
        summary = importlib.import_module(part).__doc__.splitlines()[0]
        print(f"{part:<14}{summary}")


def lock_root():
    """Refuses a second run in the same root."""
    lock = os.open("/kit/lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CannotRun("this kit is running already; unpack it a second time to run it twice") from error


def find_driver():
    driver = Driver()
    if not driver.folder:
        raise CannotRun("no NVIDIA driver is installed: libnvidia-ml.so.1 is neither known to the machine's linker nor in "
                        f"{FOLDERS[0]} and other usual folders; DRIVER=FOLDER names another one")
    return driver


def own_genvds(pen):
    """Returns the PIDs of each genvd that is not the kit's, as texts."""
    done = subprocess.run(["pgrep", "-x", "genvd"], capture_output=True, text=True, check=False)
    return [pid for pid in done.stdout.split() if not pen.is_ours(int(pid))]


def facts_of(seen):
    with open("/kit/revision", encoding="utf-8") as file:
        revision = file.read().strip()
    version = subprocess.run(["genvctl", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    with open("/etc/os-release", encoding="utf-8") as file:
        debian = next(line.split("=")[1].strip().strip('"') for line in file if line.startswith("PRETTY_NAME="))
    return {"date": time.strftime("%Y-%m-%d"), "genv": version, "revision": revision, "kit": debian,
            "kernel": platform.release(), "processor": platform.machine(), "driver": seen["driver"],
            "gpus": [device.get("name", "unknown") for device in seen["devices"]]}


def prepare(pen):
    """Fills Kit; returns the facts of the machine."""
    Kit.pen = pen
    Kit.driver = find_driver()
    try:
        seen = look()
    except Unknown as error:
        raise CannotRun(f"the driver does not answer: {error}") from error
    Kit.gpus = Gpus(pen.is_ours)
    uids = choose_uids()
    add_accounts(uids)
    Kit.people = {name: Person(name, uid, pen) for name, uid in {"root": 0, **uids}.items()}
    Kit.service = Service(Kit.people["root"], pen)
    return facts_of(seen)


def record(folder):
    done = subprocess.run(["/kit/bin/gpu-recorder", folder], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, RECORDED_IN_PART):
        raise CannotRun(f"the driver cannot be recorded: {done.stderr.strip()}")
    if done.returncode:
        print(f"the recording is incomplete: {' '.join(done.stderr.split())}")


def run(pen, options):
    facts = prepare(pen)
    print(f"genv {facts['revision']} on {', '.join(facts['gpus']) or 'no GPU'}, driver {facts['driver']}, "
          f"Linux {facts['kernel']}", flush=True)
    genvds = own_genvds(pen)
    if genvds:
        print(f"genvd runs on this machine already (PID {', '.join(genvds)}); it is not touched, and GPUs that it has "
              "given away are left alone")
    if options.record:
        record(f"/host{options.record}")
    Kit.service.start()
    print(table.header(), flush=True)
    rows = Rows(pen)
    try:
        checks_of(options.parts or PARTS).run(rows)
    finally:
        table.write_json(f"/host{options.out}/results.json", facts, rows.rows)
    counts = {result: sum(row["result"] == result for row in rows.rows) for result in ("ok", "skipped", "failed")}
    print(", ".join(f"{number} {result}" for result, number in counts.items()) + f"; logs are in {options.out}")
    return 1 if counts["failed"] else 0


def stop(*_):
    raise Stopped


def main(argv):
    options = wanted(argv)
    if options.list:
        list_parts()
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    pen = None
    try:
        lock_root()
        pen = Pen()
        return run(pen, options)
    except (CannotRun, Unknown) as error:
        print(f"run: {error}", file=sys.stderr)
        return CANNOT
    except AssertionError as error:
        print(f"run: genv does not start: {error}", file=sys.stderr)
        return 1
    except Stopped:
        print("run: stopped", file=sys.stderr)
        return 1
    finally:
        if pen:
            pen.close()
        if options.out and os.path.isdir(LOGS):
            shutil.copytree(LOGS, f"/host{options.out}/logs", dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
