# SPDX-License-Identifier: LGPL-2.1-or-later
"""Selects the sources for `./dev check`: those that differ from the last commit, or else those that it changed.

Prints one line for each: "file PATH" for C++ sources, and "folder FOLDER" for folders of tests with unit tests of
these sources, relative to tests/.
"""

import pathlib
import subprocess
import sys

SOURCES = {".cpp", ".hpp", ".c", ".h"}


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


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    sources = changed(root)
    for path in sources:
        print("file", path)
    for folder in sorted({f for path in sources if (f := test_folder_of(path, root / "tests"))}):
        print("folder", folder)


if __name__ == "__main__":
    main()
