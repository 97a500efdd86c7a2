#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The messages of the programs are plain English, as far as patterns can check: texts in the sources contain no phrase
to avoid. Each fault is listed with its file.

usage: messages_test.py SOURCE
"""

import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from words_test import PHRASES  # noqa: E402

FOLDERS = "core policy dbus service shims bench tests/dev tests/mutation client/genvctl client/libgenv client/monitor client/notify " \
          "client/python client/remote".split()
# Phrases of messages, besides those of documents. A message begins with the fault: "invalid port "x": expected 1-65535".
MESSAGES = {
    r"^(?:it|they) (?:is|are) (?:a|an|the|no|not|none|of)\b(?! JSON| document)": "invalid x: expected y",
    r"\bis no (?:address|option|command|preset|group|part|target|figure)\b": "invalid, unknown",
    r"\bthere is no (?:option|command|preset|group|part|test)\b": "unknown",
    r"\bthat is none\b": "invalid",
    r"\bsaid more\b": "sent more",
    r"\bis another user's\b": "belongs to another user",
    r"\bmay do \(": "choose another",
    r"\bcannot be (?:asked|had|counted|heard|looked up|checked)\b": "cannot ask",
    r"\bwere asked for\b|\bothers asked for\b": "requested",
    r"\bwhat (?:it|they) (?:made|says?|said)\b": "a noun",
    r"\bstays? as (?:it is|they are)\b(?!\")": "unchanged",
    r"\bas if (?:genv|it) were not there\b": "without genv",
    # One word for one thing.
    r"\b(?:graphics|video) cards?\b|\baccelerators?\b": "GPU",
    r"\blease (?:time|duration)\b|\blife ?span\b|\ballotments?\b": "lease",
    r"\bask root\b": "ask an administrator",
}
# Parts of a text are no sentences, and tables of words are no text.
SHORTEST, LONGEST = 3, 700
C_COMMENT = re.compile(r"(?m)(?<!:)//.*$|/\*.*?\*/", re.S)
C_TEXT = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:\\.|[^"\\\n])*)"', re.S)
OTHER_TEXT = re.compile(r"""(?P<raw>(?!x)x)|(?<![\w\\])(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)""")


def texts(path, shortest=SHORTEST, longest=LONGEST):
    """Yields the texts in a source file: literals of that many words and characters, joined where the source splits
    them."""
    source = path.read_text(encoding="utf-8", errors="replace")
    is_c = path.suffix in (".cpp", ".hpp", ".c", ".h")
    source = re.sub(r"(?m)//.*$", "", source) if is_c else re.sub(r'"""[\s\S]*?"""|(?m:^\s*#.*$)', "", source)
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    for found in (C_TEXT if is_c else OTHER_TEXT).finditer(source):
        text = (found["text"] if found["text"] is not None else found["raw"]).replace('\\"', '"')
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= shortest and len(text) <= longest:
            yield text


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (path.suffix in (".cpp", ".hpp", ".py") or not path.suffix) and path.name != "CMakeLists.txt":
                yield path
    yield root / "dev"


def main():
    root = pathlib.Path(sys.argv[1])
    read = 0
    found = []
    for path in sources(root):
        for text in texts(path):
            read += 1
            for pattern, instead in {**PHRASES, **MESSAGES}.items():
                if match := re.search(pattern, text, re.I):
                    found.append(f'{path.relative_to(root)}: "{match[0]}" in "{text[:90]}": write {instead or "it otherwise"}')
    print("\n".join(found) if found else f"{read} texts read, nothing found")
    return 1 if found or read < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
