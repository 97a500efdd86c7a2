#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads gcovr's JSON report and decides whether enough of the rooms in `HELD` was executed.

Prints a table of lines and branches by room, and the files of these rooms that are below the limit individually.
"""

import collections
import dataclasses
import json
import pathlib
import sys

HELD = ("core", "policy", "dbus")
LIMIT = 90.0


@dataclasses.dataclass
class Count:
    """The number of executed items and their total number."""

    ran: int = 0
    of: int = 0

    def add(self, ran):
        self.ran += ran
        self.of += 1

    @property
    def percent(self):
        return 100.0 * self.ran / self.of if self.of else 100.0

    @property
    def enough(self):
        return self.percent > LIMIT

    def __str__(self):
        return f"{self.ran:6} of {self.of:5} {self.percent:6.1f} %"


class Figures:
    """The executed lines and branches of a file or a room."""

    def __init__(self):
        self.lines = Count()
        self.branches = Count()

    def add_line(self, line):
        self.lines.add(line["count"] > 0)
        for branch in line["branches"]:
            self.branches.add(branch["count"] > 0)

    @property
    def enough(self):
        return self.lines.enough and self.branches.enough

    def __str__(self):
        return f"{self.lines}   {self.branches}"


def read(report):
    """Returns the figures of each file and each room, by name."""
    files = collections.defaultdict(Figures)
    rooms = collections.defaultdict(Figures)
    for file in report["files"]:
        for line in file["lines"]:
            if line["gcovr/noncode"] or line["gcovr/excluded"]:
                continue
            files[file["file"]].add_line(line)
            rooms[pathlib.PurePath(file["file"]).parts[0]].add_line(line)
    return files, rooms


def judge(report):
    """Prints the table. Returns whether every room with a limit is above it."""
    files, rooms = read(report)
    print(f"{'':40} {'lines':>24}   {'branches':>24}")
    for name, figures in sorted(rooms.items()):
        print(f"{name:40} {figures}")
    weak = sorted((name, figures) for name, figures in files.items() if name.split("/")[0] in HELD and not figures.enough)
    if weak:
        print(f"\nfiles of {', '.join(HELD)} below the limit of {LIMIT:.0f} %:")
        for name, figures in weak:
            print(f"{name:40} {figures}")
    # A room without any measured line was not tested, which is a failure.
    missed = [room for room in HELD if room not in rooms or not rooms[room].lines.of or not rooms[room].enough]
    for room in missed:
        print(f"{room} is not over {LIMIT:.0f} %")
    return not missed


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    return 0 if judge(report) else 1


if __name__ == "__main__":
    sys.exit(main())
