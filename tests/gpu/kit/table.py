# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of the checks, as text and as JSON."""

import json
import textwrap

WIDTH = 110
NAME, RESULT = 46, 8


def row(name, result, seen):
    """Returns the lines of a check."""
    names = textwrap.wrap(name, NAME - 2) or [""]
    texts = textwrap.wrap(seen, WIDTH - NAME - RESULT) or [""]
    lines = []
    for number in range(max(len(names), len(texts))):
        cells = [names[number] if number < len(names) else "", result if number == 0 else "",
                 texts[number] if number < len(texts) else ""]
        lines.append(f"{cells[0]:<{NAME}}{cells[1]:<{RESULT}}{cells[2]}".rstrip())
    return "\n".join(lines)


def header():
    return f"{'CHECK':<{NAME}}{'RESULT':<{RESULT}}SEEN"


def write_json(file, facts, rows):
    with open(file, "w", encoding="utf-8") as out:
        json.dump({**facts, "checks": rows}, out, indent=2)
        out.write("\n")
