# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chooses mutants among the candidates: the same ones for the same seed, and nearly the same ones after a change of the
code, so that a survivor does not vanish because another line changed."""

import bisect
import collections
import hashlib

import kinds

# A small room gets this many mutants, too.
LEAST_OF_A_ROOM = 5


def shares(counts: "dict[str, int]", wanted: int) -> "dict[str, int]":
    """Returns how many mutants each room gets: in proportion to its candidates, but at least LEAST_OF_A_ROOM, and at
    most all of them. In total, this is at least `wanted`, if there are as many candidates."""
    total = sum(counts.values())
    return {room: min(count, max(LEAST_OF_A_ROOM, -(-wanted * count // total))) for room, count in counts.items()}


class Spans:
    """Chosen parts of one file, none inside another."""

    def __init__(self) -> None:
        self.begins: "list[int]" = []
        self.ends: "list[int]" = []

    def add(self, begin: int, end: int) -> bool:
        """Adds a part. Returns False if it overlaps another one."""
        place = bisect.bisect(self.begins, begin)
        if (place and self.ends[place - 1] > begin) or (place < len(self.begins) and self.begins[place] < end):
            return False
        self.begins.insert(place, begin)
        self.ends.insert(place, end)
        return True


def shuffled(candidates: "list[kinds.Candidate]", seed: int) -> "list[kinds.Candidate]":
    """Returns the candidates in an order that depends on the text of each, but neither on its line nor on others."""
    repeated: "collections.Counter[tuple[str, ...]]" = collections.Counter()
    keys = []
    for candidate in sorted(candidates, key=lambda c: (c.file, c.begin, c.end, c.kind)):
        text = (candidate.file, candidate.kind, candidate.original, candidate.mutated)
        repeated[text] += 1
        keys.append((hashlib.sha256(repr((seed, text, repeated[text])).encode()).digest(), candidate))
    return [candidate for _, candidate in sorted(keys, key=lambda pair: pair[0])]


def choose(candidates: "list[kinds.Candidate]", wanted: int, seed: int) -> "list[kinds.Candidate]":
    """Returns the chosen candidates in the order of files and places, none inside another."""
    left = shares(collections.Counter(candidate.room for candidate in candidates), wanted)
    spans: "dict[str, Spans]" = collections.defaultdict(Spans)
    chosen = []
    for candidate in shuffled(candidates, seed):
        if left[candidate.room] and spans[candidate.file].add(candidate.begin, candidate.end):
            left[candidate.room] -= 1
            chosen.append(candidate)
    return sorted(chosen, key=lambda c: (c.file, c.begin))
