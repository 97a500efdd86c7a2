# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of killed mutants by room, and the surviving ones."""

import collections
import pathlib
import typing

import kinds
from trial import Outcome

LIMIT = 95.0
Results = typing.Mapping[int, Outcome]
WIDTH = 160


def percent(killed: int, of: int) -> float:
    return 100.0 * killed / of if of else 0.0


def shortened(text: str) -> str:
    return text if len(text) <= WIDTH else text[:WIDTH - 3] + "..."


def table(mutants: "dict[int, kinds.Candidate]", results: Results) -> "list[str]":
    rooms: "dict[str, list[Outcome]]" = collections.defaultdict(list)
    for number, outcome in results.items():
        rooms[mutants[number].room].append(outcome)
    lines = [f"{'':10}{'mutants':>9}{'killed':>9}{'by time':>9}{'survived':>10}"]
    for room, outcomes in [*sorted(rooms.items()), ("total", list(results.values()))]:
        killed = sum(outcome.killed for outcome in outcomes)
        timed = sum(outcome.by_time for outcome in outcomes)
        lines.append(f"{room:10}{len(outcomes):9}{killed:9}{timed:9}{len(outcomes) - killed:10}"
                     f"{percent(killed, len(outcomes)):8.1f} %")
    return lines


def difference(root: pathlib.Path, mutant: kinds.Candidate) -> "list[str]":
    """Returns the changed lines of the source before and after, each as one line."""
    text = (root / mutant.file).read_bytes()
    begin = text.rfind(b"\n", 0, mutant.begin) + 1
    end = text.find(b"\n", mutant.end)
    end = len(text) if end < 0 else end
    before, after = text[begin:mutant.begin].decode(), text[mutant.end:end].decode()
    return [shortened(f"    {sign} {kinds.one_line(before + changed + after)}")
            for sign, changed in (("-", mutant.original), ("+", mutant.mutated))]


def reason(outcome: Outcome) -> str:
    if not outcome.reaching:
        return "no test reaches it"
    if outcome.ran == outcome.reaching:
        return f"{outcome.reaching} suites passed"
    return f"{outcome.ran} of {outcome.reaching} suites passed in its time"


def survivors(root: pathlib.Path, mutants: "dict[int, kinds.Candidate]", results: Results) -> "list[str]":
    lines = []
    for number, outcome in sorted(results.items()):
        if not outcome.killed:
            mutant = mutants[number]
            lines.append(f"{mutant.file}:{mutant.line}: mutant {number}, {mutant.kind}: {reason(outcome)}")
            lines += difference(root, mutant)
    return lines


def is_enough(results: Results) -> bool:
    return percent(sum(outcome.killed for outcome in results.values()), len(results)) >= LIMIT
