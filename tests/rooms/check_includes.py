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

# Folder -> the project's folders that it may include, and patterns of the foreign headers that it may include.
POSIX = r"(sys/|linux/|arpa/|net/|[a-z_]+\.h$)"
rooms = {
    "core": (["core"], [r"fmt/", r"nlohmann/"]),
    "policy": (["policy", "core"], [r"fmt/", r"polkit/", r"gio/", r"glib"]),
    "dbus": (["dbus", "policy", "core"], [r"fmt/", r"nlohmann/", r"sdbus-c\+\+/", POSIX]),
    "service": (
        ["service", "dbus", "policy", "core"],
        [r"fmt/", r"nlohmann/", r"sdbus-c\+\+/", r"systemd/sd-(daemon|journal|login)", r"glib", r"gio/", r"CLI/", POSIX],
    ),
    "client": (
        ["client", "core", "dbus/contract", "genv"],
        [r"fmt/", r"nlohmann/", r"sdbus-c\+\+/", r"systemd/", r"CLI/", r"prometheus/", POSIX],
    ),
    "client/libgenv": (["client", "core", "dbus/contract", "genv"], [r"fmt/", r"sdbus-c\+\+/", POSIX]),
    "shims": (["shims", "client", "genv"], [r"fmt/", POSIX]),
}

# Additional single headers that a folder or a file may include.
exceptions = {
    # All programs share the layout of --help and the form of usage errors, and core is the folder that all may include.
    # The folder is a library of its own, which core does not link.
    "core/command_line": {"CLI/CLI.hpp"},
    # One class owns descriptors in all areas, and core is the folder that all may include.
    "core/descriptor.hpp": {"unistd.h"},
    # The service and the clients wait for processes, and each version of this header has a fault of its own.
    "core/glibc_pidfd.hpp": {"sys/pidfd.h"},
    # The service and the clients read the user database, and an entry may be larger than any fixed buffer.
    "core/user_database.cpp": {"grp.h", "pwd.h"},
    # Only the database of jobs is SQLite, and only these files are below it.
    "client/jobs/store": {"sqlite3.h"},
    # Children of the service and of the clients end with them, and the order of the two calls is easy to get wrong.
    "core/parent_end.hpp": {"sys/prctl.h", "unistd.h"},
    # The callers of NVML and its replacements share NVIDIA's ABI, which must be written down only once. The header
    # contains declarations without any code of the service.
    "shims/nvml": {"service/gpu/nvml_abi.hpp"},
    # Only raw_bus.cpp and raw_values.cpp, which use this header, are below sdbus-c++. In the rest of the client, programs
    # that do without sdbus-c++ use sd-bus.
    "dbus/contract/sd_message.hpp": {"systemd/sd-bus.h"},
}


def is_excepted(path: pathlib.Path, header: str) -> bool:
    return any(path.is_relative_to(folder) and header in headers for folder, headers in exceptions.items())


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
    for room, (own, foreign) in rooms.items():
        folder = root / room
        for path in sources(folder):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quote, header = match.groups()
                if quote == '"':
                    good = any(header.startswith(prefix + "/") for prefix in own) or (path.parent / header).is_file()
                else:
                    good = STANDARD.match(header) or any(re.match(pattern, header) for pattern in foreign)
                if not good and not is_excepted(path.relative_to(root), header):
                    yield f"{path.relative_to(root)}:{number}: {room} must not include {header}"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    found = [*violations(root), *questions_of_versions(root)]
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
