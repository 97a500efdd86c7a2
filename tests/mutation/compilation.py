# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parses the translation units of a build by libclang, with the sources of the tree in place of their copies."""

import dataclasses
import json
import pathlib
import shlex
import typing

from clang import cindex

import candidates
import kinds

# The options that libclang needs. Those that take the next word are in PAIRS.
KEPT = ("-I", "-D", "-U", "-std=")
PAIRS = ("-isystem", "-I", "-D")


@dataclasses.dataclass(frozen=True)
class Unit:
    """A translation unit: its text, and the options to parse it."""

    name: str
    text: str
    options: "tuple[str, ...]"


def options_of(words: "list[str]") -> "list[str]":
    """Returns the options that matter to a parser, without precompiled headers, since each source has its own includes."""
    kept = []
    place = 1
    while place < len(words):
        word = words[place]
        if word in PAIRS:
            kept += words[place:place + 2]
            place += 1
        elif word.startswith(KEPT):
            kept.append(word)
        place += 1
    return kept


def units(build: pathlib.Path, copy: pathlib.Path, root: pathlib.Path, rooms: "typing.Collection[str]") -> "list[Unit]":
    """Reads the compilation database of a build of the copy. Returns the units of these rooms, with the paths of the
    tree at `root`."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1] if "-o" in words else ""
        source = pathlib.Path(entry["file"])
        if source.suffix not in (".cpp", ".cxx") or output.split("/")[0] not in rooms:
            continue
        text = source.read_text(encoding="utf-8") if source.suffix == ".cxx" else f'#include "{source}"\n'
        options = [word.replace(str(copy), str(root)) for word in options_of(words)]
        found.append(Unit(output, text.replace(str(copy), str(root)), tuple(options)))
    return found


def parse(unit: Unit, replaced: "dict[str, str]") -> cindex.TranslationUnit:
    main = "/unit.cpp"
    return cindex.Index.create().parse(
        main, args=[*unit.options, "-ferror-limit=0", "-w"], unsaved_files=[(main, unit.text), *replaced.items()],
        options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)


def errors(parsed: cindex.TranslationUnit) -> "list[tuple[str, int, str]]":
    """Returns file, line and message of each error."""
    return [(error.location.file.name if error.location.file else "", error.location.line, error.spelling)
            for error in parsed.diagnostics if error.severity >= cindex.Diagnostic.Error]


def candidates_in(unit: Unit, root: pathlib.Path, rooms: "typing.Collection[str]") -> "set[kinds.Candidate]":
    parsed = parse(unit, {})
    if wrong := errors(parsed):
        raise RuntimeError(f"libclang cannot parse {unit.name}: {wrong[0]}")
    search = candidates.Search(root, rooms)
    search.run(parsed)
    return search.found


def errors_in(unit: Unit, replaced: "dict[str, str]") -> "list[tuple[str, int, str]]":
    """Returns the errors of a unit with changed sources: texts by path."""
    return errors(parse(unit, replaced))
