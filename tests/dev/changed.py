# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `./dev check` looks at: the sources that differ from the last commit, or else those that it changed.

Prints a line for each: "file PATH" for C++ sources, "folder FOLDER" for folders of tests whose unit tests concern them,
relative to tests/.
"""

import pathlib
import subprocess
import sys

SOURCES = {".cpp", ".hpp", ".c", ".h"}


def test_folder_of(path: pathlib.PurePath, tests: pathlib.Path) -> pathlib.PurePath | None:
    """The folder of tests for a source: of its own name, or of the nearest folder above it that has tests.

    A folder of client/ is tested in one of that name where there is one: client/remote in tests/remote.
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
    """The C++ sources that differ from the last commit; where none does, those that the last commit changed."""
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
