#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fails if a lambda of dbus/ or service/ is inside two others.

Such a handler mixes three points in time on one screen. An operation with more steps becomes a class whose steps are
named member functions, as the one in dbus/manager/activation.cpp is.

With --list it prints how deep the lambdas of each file are nested.
"""

import pathlib
import re
import sys

ROOMS = ("dbus", "service")
DEEPEST = 2

# Text that must be hidden before braces are counted: comments, literals and preprocessor lines.
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
# The text between a lambda's captures and its body.
SIGNATURE = re.compile(r"(?:\s*(?:mutable|constexpr|consteval|noexcept|static)\b|\s*->[^{};]*)*\s*\{")
OPENING, CLOSING = "([{<", ")]}>"


def blank(match: re.Match) -> str:
    return "".join(c if c == "\n" else " " for c in match.group())


def end_of(text: str, start: int) -> int:
    """Returns the position at which the bracket at `start` is closed."""
    opened, closed = text[start], CLOSING[OPENING.index(text[start])]
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opened) - (text[at] == closed)
        if depth == 0:
            return at
    return len(text)


def body_of(text: str, start: int) -> int | None:
    """Returns the start of the body of a lambda whose captures start at `start`; None if these are not captures."""
    before = text[:start].rstrip()
    is_subscript = before[-1:].isalnum() or before[-1:] in tuple(")]_[")
    if is_subscript and not re.search(r"\breturn$", before) or text[start + 1] == "[":
        return None
    at = end_of(text, start) + 1
    for bracket in "<(":
        if skipped := re.compile(r"\s*" + re.escape(bracket)).match(text, at):
            at = end_of(text, skipped.end() - 1) + 1
    signature = SIGNATURE.match(text, at)
    return signature.end() - 1 if signature else None


def nesting_of(path: pathlib.Path) -> list[tuple[int, int]]:
    """Yields the line and the depth of each lambda. A lambda outside all others has depth 1."""
    text = HIDDEN.sub(blank, path.read_text(encoding="utf-8"))
    found, ends = [], []
    for at, character in enumerate(text):
        if character == "[" and (body := body_of(text, at)) is not None:
            ends = [end for end in ends if end[1] > at]
            inside = sum(begin < at for begin, _ in ends)
            found.append((text.count("\n", 0, at) + 1, inside + 1))
            ends.append((body, end_of(text, body)))
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    paths = [p for room in ROOMS for p in sorted((root / room).rglob("*")) if p.suffix in {".cpp", ".hpp"}]
    nesting = {path.relative_to(root): nesting_of(path) for path in paths}
    if "--list" in sys.argv[2:]:
        for path, found in nesting.items():
            print(max((depth for _, depth in found), default=0), path)
    deep = [f"{path}:{line}: {depth}" for path, found in nesting.items() for line, depth in found if depth > DEEPEST]
    if deep:
        print(f"lambdas lie deeper than {DEEPEST} in each other:\n  " + "\n  ".join(deep), file=sys.stderr)
    return 1 if deep else 0


if __name__ == "__main__":
    sys.exit(main())
