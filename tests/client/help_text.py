# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parses the output of genvctl --help and of all its commands, for tests that compare it with other texts."""

import re
import subprocess


class Command:
    """A command's options, each as the set of its names, and its subcommands with their own help."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        sections = list(_sections(text))
        self.options = [_names(term) for title, rows in sections if title.endswith(("Options", "options"))
                        for term, _ in rows]
        if path:
            self.options = [names for names in self.options if "--help" not in names]
        self.arguments = [term for title, rows in sections if title == "Arguments" for term, _ in rows]
        self.subcommands = [term for title, rows in sections if title.endswith(("Commands", "commands"))
                            for term, _ in rows]
        # The descriptions of options, arguments and commands, each with its term.
        self.descriptions = [row for title, rows in sections if title.endswith(("ommands", "ptions", "Arguments"))
                             for row in rows]

    @property
    def name(self):
        return " ".join(self.path)


def _names(term):
    """Returns the spellings in "-n, --lines N" or "--[no-]env-memory"."""
    names = re.findall(r"(?<![\w-])--?(?:\[no-\])?[a-zA-Z][a-z-]*", term)
    return frozenset(spelling for name in names
                     for spelling in ([name.replace("[no-]", ""), name.replace("[no-]", "no-")]))


def _sections(text):
    """Returns the titles of lists, such as "GPU options", and their rows. Each row is a term and its description."""
    for title, body in re.findall(r"(?m)^([A-Z][\w ]*):\n((?:  .*\n)+)", text):
        rows = []
        for line in body.splitlines():
            if line.startswith("   "):
                term, description = rows[-1]
                rows[-1] = (term, f"{description} {line.strip()}".strip())
            else:
                term, _, description = line.strip().partition("  ")
                rows.append((term, description.strip()))
        yield title, rows


def commands(program):
    """Returns all commands by their path without the program's name. The path of the program itself is ()."""
    found = {}
    waiting = [()]
    while waiting:
        path = waiting.pop()
        done = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True)
        found[path] = Command(path, done.stdout)
        waiting += [(*path, name) for name in found[path].subcommands]
    return found
