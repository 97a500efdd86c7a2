# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the mutated copy of the tree. The tree itself stays as it is."""

import os
import pathlib
import shutil
import typing

import kinds

HEADER = '#include "tests/mutation/mutant.hpp" '


def mutated(text: bytes, mutants: "typing.Iterable[tuple[int, kinds.Candidate]]") -> bytes:
    """Returns the text of a source with these mutants, by number. Its lines keep their numbers: the header is included
    in the first line, which must be a comment or an #include of its own."""
    for number, mutant in sorted(mutants, key=lambda pair: pair[1].begin, reverse=True):
        original = text[mutant.begin:mutant.end].decode()
        code = kinds.code(number, mutant.form, original, mutant.mutated)
        text = text[:mutant.begin] + code.encode() + text[mutant.end:]
    return HEADER.encode() + text if text.startswith(b"//") else HEADER.encode() + b"\n#line 1\n" + text


def files_of(root: pathlib.Path) -> "list[pathlib.PurePath]":
    """Returns the files and links of a tree, without build results and repositories."""
    found: "list[pathlib.PurePath]" = []
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = sorted(name for name in folders if not (here == root and name in ("build", ".git", ".cache"))
                            and name != "__pycache__")
        links = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(root) for name in sorted(files + links)]
    return found


def is_same(source: pathlib.Path, target: pathlib.Path) -> bool:
    return (not target.is_symlink() and target.is_file() and source.stat().st_mode == target.stat().st_mode
            and source.read_bytes() == target.read_bytes())


def copy_file(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a file or a link, unless the target is the same. Only changed files get a new time, so that only they are
    built again."""
    if source.is_symlink():
        if not target.is_symlink() or os.readlink(target) != os.readlink(source):
            target.unlink(missing_ok=True)
            target.symlink_to(os.readlink(source))
    elif not is_same(source, target):
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def write(root: pathlib.Path, copy: pathlib.Path, changed: "dict[str, bytes]", kept: "typing.Collection[str]" = ()) -> None:
    """Makes `copy` a copy of the tree at `root` with changed texts by path. Files in `kept` stay if they exist."""
    files = files_of(root)
    for path in files:
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = changed.get(str(path))
        if text is not None:
            if not target.is_file() or target.read_bytes() != text:
                target.write_bytes(text)
        elif not (str(path) in kept and target.exists()):
            copy_file(root / path, target)
    for path in set(files_of(copy)) - set(files):
        (copy / path).unlink()
