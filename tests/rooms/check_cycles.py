#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fails if folders include each other in a cycle, at any depth.

A folder may include headers of folders below it or beside it, as long as no path leads back. Only #include lines of the
project's own headers are read.
"""

import collections
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
ROOMS = ("core", "policy", "dbus", "service", "client", "shims")
SEARCHED = ("", "client/libgenv/include")

# The ports are interfaces in terms of the model, and it keeps some of their values.
SAME = {"core/ports": "core/model"}


def folder_of(path: pathlib.Path, root: pathlib.Path) -> str:
    folder = path.parent.relative_to(root).as_posix()
    return SAME.get(folder, folder)


def edges_of(root: pathlib.Path):
    """Maps each folder to the folders that it includes, and each of these to an example."""
    edges: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for room in ROOMS:
        for path in sorted(p for p in (root / room).rglob("*") if p.suffix in {".cpp", ".hpp", ".h", ".c"}):
            for line in path.read_text(encoding="utf-8").splitlines():
                match = INCLUDE.match(line)
                found = [f for s in SEARCHED if match and (f := root / s / match.group(1)).is_file()]
                if found and folder_of(found[0], root) != folder_of(path, root):
                    included = found[0].relative_to(root).as_posix()
                    edges[folder_of(path, root)].setdefault(
                        folder_of(found[0], root), f"{path.relative_to(root)} includes {included}"
                    )
    return edges


def circle(edges) -> list[str]:
    """Returns the files of a path from a folder back to itself; empty if there is none."""
    done: set[str] = set()

    def search(folder: str, trail: list[str]) -> list[str]:
        if folder in trail:
            ring = [*trail[trail.index(folder) :], folder]
            return [edges[a][b] for a, b in zip(ring, ring[1:])]
        if folder in done:
            return []
        for included in sorted(edges[folder]):
            if found := search(included, [*trail, folder]):
                return found
        done.add(folder)
        return []

    for folder in sorted(edges):
        if found := search(folder, []):
            return found
    return []


def main() -> int:
    found = circle(edges_of(pathlib.Path(sys.argv[1])))
    if found:
        print("folders include each other in a circle:\n  " + "\n  ".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
