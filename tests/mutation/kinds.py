# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kinds of mutants: which operator becomes which, and the code that chooses between both when it runs.

All functions are about text. candidates.py decides where a kind applies.
"""

import dataclasses
import re

SWITCH = "::genv::tests::mutant"

# A comparison becomes the one that differs only where both sides are equal, or the opposite one.
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# For comparisons with 0. System calls return 0 or a negative number, never both sides of "< 0" and "<= 0".
SIGNS = {"<": ">=", ">=": "<"}
LOGIC = {"&&": "||", "||": "&&", "and": "||", "or": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/"}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A place that can be mutated: bytes `begin` to `end` of a file (a path below the root of the tree).

    It is in lines `line` to `last_line`. `original` is the text there, and a reader would write `mutated` in its place.
    Neither has a line break. `form` says how the code chooses: "expression", "truth" (of a condition), or "statement".
    """

    file: str
    line: int
    last_line: int
    begin: int
    end: int
    kind: str
    form: str
    original: str
    mutated: str

    @property
    def room(self) -> str:
        return self.file.split("/")[0]


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def can_repeat(text: str) -> bool:
    """Returns whether a text can be written twice in one line: line breaks must not matter to it."""
    return "//" not in text and 'R"' not in text and "#" not in text


def replaced_operator(left: str, operator: str, right: str) -> "tuple[str, str] | None":
    """Returns the kind and the operator that replaces an operator between two operands, or None."""
    if operator in COMPARISONS:
        replacement = SIGNS.get(operator) if right.strip() == "0" else None
        return "comparison", replacement or COMPARISONS[operator]
    if operator in LOGIC:
        return "logic", LOGIC[operator]
    if operator in ARITHMETIC:
        return "arithmetic", ARITHMETIC[operator]
    return None


def without_one(left: str, operator: str, right: str) -> "str | None":
    """Returns `a + 0` for `a + 1`, and None for other operations."""
    return f"{left} {operator} 0" if operator in ("+", "-") and right.strip() in ("1", "1U", "1UL") else None


def code(number: int, form: str, original: str, mutated: str) -> str:
    """Returns the code that is the mutant if its number is selected, and else the original text. It has as many line
    breaks as the original."""
    on = f"{SWITCH}({number})"
    if form == "truth":
        return f"({on} != static_cast<bool>({original}))"
    if form == "expression":
        return f"({on} ? ({mutated}) : ({original}))"
    if mutated:
        return f"{{ if ({on}) {{ {mutated} }} {original} }}"
    return f"{{ if (!{on}) {{ {original} }} }}"
