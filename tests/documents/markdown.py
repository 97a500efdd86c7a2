# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parses the documents: their prose without code, their headings and their links, each with its line."""

import pathlib
import re

LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^][]|\[[^]]*\])*)\]\((?P<target>[^()\s]+)\)")
CODE = re.compile(r"(`+)(.+?)\1")
BEGIN_GENERATED, END_GENERATED = "<!-- What follows is written", "<!-- The end of what is written"


def pages(folder):
    """Returns the documents of a source tree."""
    names = ("README.md", "NEWS.md", "CONTRIBUTING.md", "client/python/README.md")
    return [Page(path) for path in [*(folder / name for name in names), *sorted(folder.glob("data/doc/*.md"))]]


class Page:
    """A document. `lines` holds (number, text) of each line outside fenced blocks and generated parts, `blocks` that of
    each line in fenced blocks."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.lines, self.blocks, self.headings = [], [], []
        fence = generated = False
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            if re.match(r"\s*```", line):
                fence = not fence
                continue
            if fence:
                self.blocks.append((number, line))
                continue
            if heading := re.fullmatch(r"#+ (.*)", line):
                self.headings.append(heading[1])
            generated = (generated or BEGIN_GENERATED in line) and END_GENERATED not in line
            if not generated:
                self.lines.append((number, line))

    def comments(self):
        """Yields (number, text) of each comment in a fenced block: after two spaces, or a line of its own."""
        for number, line in self.blocks:
            if comment := re.search(r"(?:^\s*|\s{2})(?:#|//) (.+)$", line):
                yield number, comment[1]

    def links(self):
        """Yields (number, target) of each link and image."""
        for number, paragraph in self.paragraphs():
            for found in LINK.finditer(CODE.sub(lambda code: "`" * len(code[0]), paragraph)):
                yield number + paragraph[:found.start()].count("\n"), found["target"]

    def code(self):
        """Yields (number, text) of each piece of inline code."""
        for number, paragraph in self.paragraphs():
            for found in CODE.finditer(paragraph):
                yield number + paragraph[:found.start()].count("\n"), found[2]

    def paragraphs(self):
        """Yields (number of the first line, text) of each paragraph, table row, list item and heading."""
        start, text = 0, []
        for number, line in [*self.lines, (0, "")]:
            begins = not line.strip() or re.match(r"\s*(?:[*-] |\d+\. |#|\||>)", line) or number != start + len(text)
            if begins and text:
                yield start, "\n".join(text)
                text = []
            if line.strip():
                start = number if not text else start
                text.append(line)
                if re.match(r"#|\|", line):
                    yield start, line
                    text = []

    def anchors(self):
        """Returns the anchors that GitHub makes for the headings."""
        found = []
        for heading in self.headings:
            words = LINK.sub(lambda link: link["text"], heading).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
        return found


def prose(text):
    """Returns a paragraph as a reader hears it: links as their text, and inline code as the stand-in `x`."""
    text = LINK.sub(lambda link: "" if link["image"] else link["text"], text)
    text = CODE.sub("x", text)
    text = re.sub(r"<[^>\n]+>|\*\*|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", lambda mark: " " * len(mark[0]) if "<" in mark[0] else "", text)
    return re.sub(r"^\s*(?:[*-] |\d+\. |#+ |> ?)", "", text)
