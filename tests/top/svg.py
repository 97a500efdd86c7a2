# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the contents of a terminal as an SVG, from the text and escape sequences that tmux captures."""

import re
from xml.sax.saxutils import escape

CELL, LINE, SIZE, MARGIN = 8.4, 18, 14, 14
BACKGROUND, FOREGROUND = "#1b1f27", "#d3d7de"
# Black, red, green, yellow, blue, magenta, cyan and white.
COLOURS = ["#1b1f27", "#f2777a", "#8fc87a", "#e8c15a", "#6cabe8", "#cf94dc", "#5fc4c4", "#d3d7de"]
# Blocks as parts of a cell: left, top, right and bottom, in eighths.
BLOCKS = {chr(0x2580 + height): (0, 8 - height, 8, 8) for height in range(1, 9)}
BLOCKS.update({chr(0x2590 - width): (0, 0, width, 8) for width in range(1, 8)})


class Style:
    """The attributes that the escape sequences have set so far."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.colour, self.is_bold, self.is_dim, self.is_reverse = None, False, False, False

    def apply(self, parameters):
        for code in (int(each or 0) for each in parameters.split(";")):
            if code == 0:
                self.reset()
            elif code == 1:
                self.is_bold = True
            elif code == 2:
                self.is_dim = True
            elif code == 7:
                self.is_reverse = True
            elif code == 22:
                self.is_bold = self.is_dim = False
            elif code == 27:
                self.is_reverse = False
            elif 30 <= code <= 37:
                self.colour = COLOURS[code - 30]
            elif code == 39:
                self.colour = None
            elif code != 49:
                raise ValueError(f"cannot draw the attribute {code}")

    def classes(self):
        return (["b"] if self.is_bold else []) + (["d"] if self.is_dim else [])

    def foreground(self):
        return BACKGROUND if self.is_reverse else self.colour or FOREGROUND

    def background(self):
        return (self.colour or FOREGROUND) if self.is_reverse else None


def runs(line, style):
    """Yields the first column, text and style of each part of a line."""
    column = 0
    for sequence, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line):
        if text:
            yield column, text
            column += len(text)
        else:
            style.apply(sequence)


def class_attribute(names):
    return f' class="{" ".join(names)}"' if names else ""


def rectangle(x, y, width, height):
    return f"M{x:.6g} {y:.6g}h{width:.6g}v{height:.6g}h{-width:.6g}z"


def words(text, column, top, style):
    """Returns text elements; each starts at its own column, so that columns are straight in any font."""
    for word in re.finditer(r"[^\s█-▏▁-▇]+(?: [^\s█-▏▁-▇]+)*", text):
        x, width = (column + word.start()) * CELL, len(word[0]) * CELL
        yield (f'<text x="{x:.6g}" y="{top + SIZE:.6g}" textLength="{width:.6g}" lengthAdjust="spacingAndGlyphs"'
               f' fill="{style.foreground()}"{class_attribute(style.classes())}>{escape(word[0])}</text>')


def draw(captured, columns, title):
    """Returns the SVG of what tmux captured."""
    lines = captured.rstrip("\n").split("\n")
    paths, texts = {}, []
    style = Style()
    for row, line in enumerate(lines):
        top = row * LINE
        for column, text in runs(line, style):
            if style.background():
                paths.setdefault((style.background(), False), []).append(
                    rectangle(column * CELL, top, len(text) * CELL, LINE))
            for place, block in enumerate(text):
                if block in BLOCKS:
                    left, above, right, below = BLOCKS[block]
                    # A gap between the lines keeps bars of neighbouring rows apart.
                    height = LINE - 4
                    paths.setdefault((style.foreground(), style.is_dim), []).append(rectangle(
                        (column + place) * CELL + left * CELL / 8, top + 2 + above * height / 8,
                        (right - left) * CELL / 8, (below - above) * height / 8))
            texts += words(text, column, top, style)
    width, height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    drawn = [f'<path fill="{colour}"{class_attribute(["d"] if is_dim else [])} d="{"".join(parts)}"/>'
             for (colour, is_dim), parts in paths.items()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.6g} {height:.6g}" width="{width:.6g}"'
        f' height="{height:.6g}" role="img">', f"<title>{escape(title)}</title>",
        f'<style>text{{font:{SIZE}px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}}'
        '.b{font-weight:bold}.d{opacity:.55}</style>',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        f'<g transform="translate({MARGIN} {MARGIN})">', *drawn, *texts, "</g>", "</svg>", ""])
