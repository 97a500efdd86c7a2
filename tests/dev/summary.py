#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Summarizes the results of ctest in build folders (tests.json, results.xml, ctest-status) and decides on success.

A test that did not run is a failure, unless it cannot run on this machine (`may_skip`). The cases of a GoogleTest
program count individually. A case that skipped itself counts as skipped even if its program passed.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

CASES = re.compile(r"^\[==========\] (\d+) tests? from ", re.M)
SKIPPED_CASE = re.compile(r"^\[ RUN      \] (\S+)\n(?:(?!\[ ).*\n)*?\[  SKIPPED \] \1", re.M)
GTEST_REASON = re.compile(r"^\S+:\d+: Skipped\n(.+)$", re.M)
PLAIN_REASON = re.compile(r"skipped: (.+)$", re.M)
# How much of a failed test's output to repeat at the end, because a long log is read from its end.
LAST_LINES = 30
# What says why a test failed: Python's last line of a traceback, or GoogleTest's place.
REASON = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Failure|Interrupt|Expired)\b.*|^\S+:\d+: Failure$", re.M)
MAX_REASONS = 3


@functools.cache
def can_boot():
    """Returns whether root can boot a machine in a container here. Returns True without root, which is no excuse to
    skip."""
    probe = pathlib.Path(__file__).resolve().parent.parent / "machine" / "can-boot"
    return os.geteuid() != 0 or subprocess.run([probe], stdout=subprocess.DEVNULL, check=False).returncode == 0


@functools.cache
def can_mount_fuse():
    """Returns whether an ordinary user can mount a file system in a namespace here. True without root, as in
    can_boot()."""
    probe = pathlib.Path(__file__).resolve().parent.parent / "hostile" / "can-mount-fuse"
    return os.geteuid() != 0 or subprocess.run([probe], stdout=subprocess.DEVNULL, check=False).returncode == 0


@functools.cache
def can_load():
    """Returns whether root can attach a BPF program to a control group here. True without root, as in can_boot()."""
    probe = pathlib.Path(__file__).resolve().parent.parent / "service" / "isolation" / "can-load"
    return os.geteuid() != 0 or subprocess.run([probe], stdout=subprocess.DEVNULL, check=False).returncode == 0


def may_skip(labels):
    if "gpu" in labels:
        return not os.path.exists("/dev/nvidiactl")
    if "fuse" in labels:
        return not can_mount_fuse()
    if "bpf" in labels:
        return not can_load()
    if "cgroup-v1" in labels:
        return not os.path.isdir("/sys/fs/cgroup/devices")
    if "clang-14" in labels:
        return not shutil.which("clang-14")
    return "machine" in labels and not can_boot()


def labels_of(folder):
    tests = json.loads((folder / "tests.json").read_text(encoding="utf-8"))["tests"]
    labels = {}
    for test in tests:
        values = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
        labels[test["name"]] = values[0] if values else []
    return labels


def reason_in(output, default):
    match = GTEST_REASON.search(output) or PLAIN_REASON.search(output)
    return match.group(1).strip() if match else default


def skips(name, case, output):
    """Returns the skipped cases in one entry of results.xml, as (name, reason)."""
    node = case.find("skipped")
    if node is not None:
        return [(name, reason_in(output, "no reason given: " + node.get("message", "")))]
    return [
        (f"{name}: {match.group(1)}", reason_in(match.group(0), "no reason given")) for match in SKIPPED_CASE.finditer(output)
    ]


def reasons_of(output):
    """Returns the first lines that say why a test failed."""
    return REASON.findall(output)[:MAX_REASONS] or output.rstrip().splitlines()[-1:]


def summarize(folder, failures=None):
    """Prints the summary of one folder, and adds lines for each failure to `failures`. Returns whether it was
    successful."""
    results = folder / "results.xml"
    status = folder / "ctest-status"
    if not results.exists() or not status.exists():
        print(f"{folder.name}: no results")
        return False
    labels = labels_of(folder)
    cases = 0
    failed, skipped, unexpected = [], [], []
    for case in ET.parse(results).iter("testcase"):
        name = case.get("name")
        output = case.findtext("system-out") or ""
        cases += sum(int(n) for n in CASES.findall(output)) or 1
        broken = case.get("status") == "notrun" and "Unable to find" in output
        if case.find("failure") is not None or case.get("status") in ("fail", "disabled") or broken:
            failed.append((name, output.rstrip().splitlines()[-LAST_LINES:]))
            if failures is not None:
                seconds = float(case.get("time", "0"))
                failures += [f"failed: {folder.name}: {name} after {seconds:.0f} s: {reason}" for reason in reasons_of(output)]
            continue
        for what, why in skips(name, case, output):
            skipped.append((what, why))
            if not may_skip(labels.get(name, [])):
                unexpected.append(what)

    print(f"{folder.name}: {cases} tests, {len(failed)} failed, {len(skipped)} skipped")
    for name, last_lines in failed:
        print(f"  failed: {name}")
        for line in last_lines:
            print(f"    | {line}")
    for name, why in skipped:
        print(f"  skipped{' (not expected)' if name in unexpected else ''}: {name}: {why}")
    complained = status.read_text(encoding="utf-8").strip() != "0"
    if complained and not failed:
        print("  ctest failed, although no test failed")
    return cases > 0 and not failed and not unexpected and not complained


def main():
    failures = []
    good = [summarize(pathlib.Path(folder), failures) for folder in sys.argv[1:]]
    for failure in failures:
        print(failure)
    print("passed" if good and all(good) else "FAILED")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
