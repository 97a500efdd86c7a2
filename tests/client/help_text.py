# SPDX-License-Identifier: LGPL-2.1-or-later
"""What genvctl --help says, of it and of all its commands: for tests that compare it with something."""

import re
import subprocess


class Command:
    """A command's options, each as the set of its names, and its subcommands with their own help."""

    def __init__(self, path, options, arguments, subcommands):
        self.path, self.options, self.arguments, self.subcommands = path, options, arguments, subcommands

    @property
    def name(self):
        return " ".join(self.path)


def _section(text, title):
    """The first words of the lines below a title; an option group has a title of its own, further in."""
    found = []
    for indent, lines in re.findall(rf"(?m)^( *){title}:\n((?:\1  .*\n|\n)*)", text):
        found += re.findall(rf"(?m)^{indent}  (\S+)", lines)
    return found


def commands(program):
    """All commands by their path without the program's name; the program itself is ()."""
    found = {}
    waiting = [()]
    while waiting:
        path = waiting.pop()
        done = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True)
        subcommands = _section(done.stdout, "Subcommands")
        options = [frozenset(re.sub(r"[{\[].*", "", word).split(",")) for word in _section(done.stdout, "Options")]
        if path:
            options = [names for names in options if "--help" not in names]
        found[path] = Command(path, options, _section(done.stdout, "Positionals"), subcommands)
        waiting += [(*path, name) for name in subcommands]
    return found
