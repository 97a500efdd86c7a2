#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fails if a folder includes a header that it must not use.

The areas and the permitted directions between them are in `rooms` below. The build of the tests runs this over the
whole tree. Only #include lines are read; the libraries of an area are in its CMakeLists.txt. It also fails if a file
checks the version of sdbus-c++, or compares a value that one version returns as a pointer: only one pair of files does
that.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

VERSION = re.compile(r"^\s*#\s*(if|elif).*sdbus", re.IGNORECASE)
POINTER = re.compile(r"\bget(Sender|Destination|Path|InterfaceName|MemberName)\(\)")
COMPATIBLE = {"dbus/contract/sdbus_compat.hpp", "dbus/contract/sdbus_compat.cpp"}

STANDARD = re.compile(r"^[a-z_0-9]+$")  # <vector>, <cstdint>: C++ standard headers have no slash and no .h

# Folder -> the project's folders that it may include, and patterns of the foreign headers that it may include. The row
# of the deepest folder decides.
POSIX = r"(sys/|linux/|arpa/|net/|[a-z_]+\.h$)"
CLIENT = ["client", "core", "dbus/contract", "genv"]
rooms = {
    "core": (["core"], [r"fmt/", r"nlohmann/"]),
    # What all rooms share may ask the system; what genv decides may not.
    "core/base": (["core/base"], [r"fmt/", r"nlohmann/", POSIX]),
    "core/base/command_line": (["core/base"], [r"fmt/", r"CLI/"]),
    "policy": (["policy", "core"], [r"fmt/", r"polkit/", r"gio/", r"glib"]),
    "dbus": (["dbus", "policy", "core"], [r"fmt/", r"nlohmann/", r"sdbus-c\+\+/", POSIX]),
    # What lies beneath sdbus-c++ for all rooms: nothing else may include sd-bus.
    "dbus/contract": (["dbus/contract", "core"], [r"fmt/", r"sdbus-c\+\+/", r"systemd/sd-bus\.h", POSIX]),
    "service": (
        ["service", "dbus", "policy", "core"],
        [r"fmt/", r"nlohmann/", r"sdbus-c\+\+/", r"systemd/sd-(daemon|journal|login)", r"glib", r"gio/", r"CLI/", POSIX],
    ),
    "client": (
        CLIENT,
        [
            r"fmt/",
            r"nlohmann/",
            r"sdbus-c\+\+/",
            r"systemd/sd-(daemon|event|journal|login)\.h",
            r"CLI/",
            r"prometheus/",
            POSIX,
        ],
    ),
    "client/libgenv": (CLIENT, [r"fmt/", r"sdbus-c\+\+/", POSIX]),
    # Only the database of jobs is SQLite.
    "client/jobs/store": (CLIENT, [r"fmt/", r"sqlite3\.h", POSIX]),
    # Only the program that sends messages to webhooks has a network.
    "client/messages/webhook": (CLIENT, [r"fmt/", r"nlohmann/", r"CLI/", r"curl/", POSIX]),
    "shims": (["shims", "client", "genv"], [r"fmt/", POSIX]),
}


def room_of(path: pathlib.Path) -> str:
    """Returns the deepest row that has a path below the root."""
    return max((room for room in rooms if path.is_relative_to(room)), key=len)


def sources(folder: pathlib.Path):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".cpp", ".hpp", ".h", ".c"})


def questions_of_versions(root: pathlib.Path):
    for folder in (*sorted({room.split("/")[0] for room in rooms}), "tests", "bench"):
        for path in sources(root / folder):
            name = str(path.relative_to(root))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if name in COMPATIBLE:
                    continue
                if POINTER.search(line):
                    yield f"{name}:{number}: ask dbus/contract/sdbus_compat for it: sdbus-c++ 2 gives a pointer"
                if VERSION.match(line):
                    yield f"{name}:{number}: only dbus/contract/sdbus_compat may ask for the version of sdbus-c++"


def violations(root: pathlib.Path):
    for outermost in sorted({room.split("/")[0] for room in rooms}):
        for path in sources(root / outermost):
            room = room_of(path.relative_to(root))
            own, foreign = rooms[room]
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quote, header = match.groups()
                if quote == '"':
                    good = any(header.startswith(prefix + "/") for prefix in own) or (path.parent / header).is_file()
                else:
                    good = STANDARD.match(header) or any(re.match(pattern, header) for pattern in foreign)
                if not good:
                    yield f"{path.relative_to(root)}:{number}: {room} must not include {header}"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    found = [*violations(root), *questions_of_versions(root)]
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
