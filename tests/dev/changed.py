# SPDX-License-Identifier: LGPL-2.1-or-later
"""Selects the sources for `./dev check`: those that differ from the last commit, or else those that it changed.

    changed.py ROOT [FOLDER]

Prints one line for each: "file PATH" for C++ sources, "folder FOLDER" for folders of tests, relative to tests/, that
these sources can break (or just the FOLDER), and "left FOLDER" for those that test something else.
"""

import pathlib
import subprocess
import sys

SOURCES = {".cpp", ".hpp", ".c", ".h"}
# The tests of the service that fail first when a room changes that it is built from.
DEPENDENT = {"core": ("policy", "dbus", "service", "bus"), "policy": ("dbus", "bus"), "dbus": ("bus",),
             "service": ("bus", "faults")}


def test_folder_of(path: pathlib.PurePath, tests: pathlib.Path) -> pathlib.PurePath | None:
    """Returns the folder of tests for a source: the one with its name, or with that of the nearest parent folder
    with tests.

    A folder in client/ has its tests in the folder of the same name if that exists: client/remote in tests/remote.
    """
    if path.parts[0] == "tests":
        path = pathlib.PurePath(*path.parts[1:])
    elif path.parts[0] == "client" and len(path.parts) > 2 and (tests / path.parts[1]).is_dir():
        path = pathlib.PurePath(*path.parts[1:])
    for folder in path.parents:
        if folder.parts and (tests / folder / "CMakeLists.txt").is_file():
            return folder
    return None


def git(root: pathlib.Path, *arguments: str) -> list[pathlib.PurePath]:
    output = subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout
    return [pathlib.PurePath(line) for line in output.splitlines()]


def changed(root: pathlib.Path) -> list[pathlib.PurePath]:
    """Returns the C++ sources that differ from the last commit. If there are none, returns those that it changed."""
    now = git(root, "diff", "--name-only", "--diff-filter=d", "HEAD")
    now += git(root, "ls-files", "--others", "--exclude-standard")
    for paths in (now, git(root, "show", "--pretty=", "--name-only", "--diff-filter=d", "HEAD")):
        if sources := sorted({path for path in paths if path.suffix in SOURCES}):
            return sources
    return []


def folders_of(sources: list[pathlib.PurePath], tests: pathlib.Path) -> list[pathlib.PurePath]:
    """Returns the folders of tests that these sources can break, none inside another, the slow ones last."""
    found = {folder for path in sources if (folder := test_folder_of(path, tests))}
    for path in sources:
        found |= {pathlib.PurePath(name) for name in DEPENDENT.get(path.parts[0], ()) if (tests / name).is_dir()}
    return sorted((folder for folder in found if found.isdisjoint(folder.parents)),
                  key=lambda folder: (folder.parts[0] in ("bus", "faults"), folder))


def others(folders: list[pathlib.PurePath], tests: pathlib.Path) -> list[str]:
    """Returns the other folders of tests, as far as they are at the top."""
    tested = {folder.parts[0] for folder in folders}
    return sorted(file.parent.name for file in tests.glob("*/CMakeLists.txt") if file.parent.name not in tested)


def main() -> None:
    root, folder = pathlib.Path(sys.argv[1]), sys.argv[2:]
    tests = root / "tests"
    sources = changed(root)
    folders = [pathlib.PurePath(folder[0])] if folder else folders_of(sources, tests)
    for path in sources:
        print("file", path)
    for path in folders:
        print("folder", path)
    for name in others(folders, tests):
        print("left", name)


if __name__ == "__main__":
    main()
