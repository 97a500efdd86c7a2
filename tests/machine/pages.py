# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parses README and the pages of data/doc: the commands of their console blocks, the user of each, and the output.

A line of a console block is a prompt with a command, or output of the command above. `#` is root's prompt and `NAME$`
that of NAME; `$` is alice's, or admin's in a block that uses sudo. `(genv) ` precedes the prompt of a shell with an
active environment. `...` stands for any number of lines of output, and `^C` below the output for Ctrl-C typed after it.
"""

import glob
import os
import re

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LANGUAGES = ("console", "cmake", "cpp", "ini", "js", "python", "sh", "text", "yaml")

PROMPT = re.compile(r"(?P<active>\(genv\) )?(?P<user>[a-z]*)(?P<sign>[$#])(?: (?P<text>.*))?")
COMMENT = re.compile(r"\s+# .*")

# Patterns of output that differs from run to run, each with its replacement. Only numbers of two digits and more are
# ids.
SPAN = r"\d+(?:y|d|h|min|ms|s)"
VARIABLE = [
    (r"…", r".*"),
    (r"\bGPU-[0-9a-f]{8}-[0-9a-f-]*", r"GPU-[0-9a-f]{8}-[0-9a-f-]*"),
    (r"\b\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\b", r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d"),
    (r"\b\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", r"\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
    (r"\b\d\d:\d\d\b", r"\d\d:\d\d"),
    (r"\b\d+ (?:second|minute|hour)s? ago\b", r"(?:just now|\d+ (?:second|minute)s? ago)"),
    (rf"\b{SPAN}(?: {SPAN})+\b", rf"{SPAN}(?:\s+{SPAN})*"),
    (r"(?<![\w.])\d+\.\d+(?![\w.])", r"\d+\.\d+"),
    (r"[█░]+", r"[█░]*"),
    (r"\s+", r"\s+"),
]
NUMBER = r"(?:(?<=_3)|(?<![\w.:-]))\d{2,}(?!\w|[.:]\d)"


class Command:
    """A command in a page: its place, its user, whether an environment is active, and its output."""

    def __init__(self, page, line, match, sudo):
        self.page, self.line, self.text = page, line, match["text"] or ""
        self.active = bool(match["active"])
        self.user = "root" if match["sign"] == "#" else match["user"] or ("admin" if sudo else "alice")
        self.output, self.interrupted = [], False

    @property
    def name(self):
        """Returns the name of the command in the tables of a test: without the comment at its end."""
        return COMMENT.sub("", self.text)

    @property
    def where(self):
        return f"{self.page}:{self.line}: {self.user}: {self.text}"


class Page:
    """A page's commands in their order, and the text of its blocks."""

    def __init__(self, name):
        self.name, self.commands, self.blocks, self.faults = name, [], [], []
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            self._read(file.read().splitlines())

    def _read(self, lines):
        fence, block, start = None, [], 0
        for number, line in enumerate(lines, 1):
            found = re.fullmatch(r"( *)```(\w*)", line)
            if fence is None and found:
                fence, block, start = found, [], number
                if found[2] not in LANGUAGES:
                    self.faults.append(f"{self.name}:{number}: a block of \"{found[2]}\": expected {', '.join(LANGUAGES)}")
            elif fence is not None and found and not found[2]:
                self.blocks.append((fence[2], block))
                if fence[2] == "sh" and not block[0].startswith("#!") or fence[2] == "text" and PROMPT.match(block[0]):
                    self.faults.append(f"{self.name}:{start}: commands: expected a block of \"console\"")
                if fence[2] == "console":
                    self._read_console(start + 1, block)
                fence = None
            elif fence is not None:
                block.append(line[len(fence[1]):])
            elif re.match(r" {4}", line) and not lines[number - 2].strip() and self._is_code(lines, number - 1):
                self.faults.append(f"{self.name}:{number}: a block without a fence")

    @staticmethod
    def _is_code(lines, index):
        """Returns whether an indented line after an empty one starts a block of code, and not a list's next paragraph.
        """
        indent = len(lines[index]) - len(lines[index].lstrip())
        above = next((line for line in reversed(lines[:index]) if line.strip() and len(line) - len(line.lstrip()) < indent), "")
        mark = re.match(r" *(?:[*-]|\d+\.) +", above)
        return indent - (mark.end() if mark else 0) >= 4 or not mark

    def _read_console(self, start, block):
        sudo = any((match := PROMPT.fullmatch(line)) and (match["text"] or "").startswith("sudo ") for line in block)
        command = None
        for number, line in enumerate(block, start):
            match = PROMPT.fullmatch(line)
            if match:
                command = Command(self.name, number, match, sudo)
                self.commands.append(command)
            elif command is None:
                self.faults.append(f"{self.name}:{number}: output without a command")
            elif command.text.endswith("\\"):
                command.text += "\n" + line
            elif line == "^C":
                command.interrupted = True
            else:
                command.output.append(line)


def read():
    """Returns every page, README first."""
    names = ["README.md"] + sorted(glob.glob("data/doc/*.md", root_dir=SOURCE))
    return [Page(name) for name in names]


# The header of a table: names of columns in capitals, at least two spaces apart.
TABLE = re.compile(r"[A-Z][A-Z ()]*[A-Z)]  +[A-Z][A-Z ()]*$|ID  +[A-Z][A-Z ()]*$")


class Shape:
    """Compares output with a page. Ids, times and readings may differ, but an id of the page corresponds to the same id
    throughout: `ids` maps the page's numbers to those here."""

    def __init__(self):
        self.ids = {}

    def here(self, text):
        """Returns a command with the page's ids replaced by those here."""
        return re.sub("|".join([*map(re.escape, self.names()), NUMBER]), lambda found: self.ids.get(found[0], found[0]), text)

    def names(self):
        """Returns the replaced texts that are not numbers."""
        return [name for name in self.ids if not name.isdigit()]

    def pattern(self, output):
        """Returns the pattern of a command's output, with a group for each new id."""
        groups = []
        # The terminal here is wider than a page, so that tables have further columns.
        rest = r"(?:[ \t].*)?\n" if output and TABLE.match(output[0]) else r"[ \t]*\n"
        lines = "".join("(?:.*\n)*?" if line == "..." else self._line(line, groups) + rest for line in output)
        if output and output[-1].endswith(":"):  # a question
            lines = lines.removesuffix(r"\n")
        return re.compile(lines), groups

    def learn(self, match, groups):
        self.ids.update({name: match[f"n{number}"] for number, name in enumerate(groups)})

    def _line(self, line, groups):
        tokens = re.compile("|".join(f"({shown})" for shown, _ in VARIABLE) + f"|({NUMBER})")
        pattern, end = "", 0
        for found in tokens.finditer(line.rstrip()):
            pattern += re.escape(line[end:found.start()])
            end = found.end()
            if found.lastindex <= len(VARIABLE):
                pattern += VARIABLE[found.lastindex - 1][1]
            else:
                pattern += self._id(found[0], groups)
        return pattern + re.escape(line.rstrip()[end:])

    def _id(self, name, groups):
        if name in self.ids:
            return re.escape(self.ids[name])
        if name in groups:
            return f"(?P=n{groups.index(name)})"
        groups.append(name)
        return rf"(?P<n{len(groups) - 1}>\d+)"
