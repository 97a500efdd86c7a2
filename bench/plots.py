# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots cost against size as SVG, with gnuplot."""

import dataclasses
import subprocess

from figures import UNITS

TIMES = ("µs", "ms", "s")
LEAST_POINTS = 3
COLOURS = ("#1b6ca8", "#d1495b", "#3b8132", "#8a4fbf", "#c77700", "#00818a", "#7a5230", "#b83280", "#4a5568", "#a0a000",
           "#0a4d8c", "#e0794b")


@dataclasses.dataclass(frozen=True)
class Line:
    name: str
    rest: tuple  # the conditions that all points share
    points: tuple  # of (size, µs or the figure's own unit)

    @property
    def label(self):
        others = ", ".join(f"{number:g} {what}" for what, number in self.rest)
        return f"{self.name} ({others})" if others else self.name


def telling(rest):
    """Returns a sort key that prefers conditions of interest: the largest sizes, but one call at a time."""
    return [-number if what == "in_flight" else number for what, number in rest]


def lines(figures, part, axis, units=TIMES):
    """Returns the costs of each figure of a part over one kind of size.

    The other conditions are those with the most points. If several have the same number, prefers those of most
    interest."""
    families = {}
    for figure in figures:
        under = dict(figure.under)
        if figure.part != part or axis not in under or figure.unit not in units:
            continue
        size = under.pop(axis)
        rest = tuple(sorted(under.items()))
        if size > 0:  # a logarithmic axis has no zero
            families.setdefault(figure.name, {}).setdefault(rest, []).append(
                (size, figure.median * (UNITS[figure.unit] / UNITS["µs"] if units == TIMES else 1)))
    found = []
    for name, by_rest in families.items():
        rest, points = max(by_rest.items(), key=lambda item: (len(item[1]), telling(item[0])))
        if len(points) >= LEAST_POINTS:
            found.append(Line(name, rest, tuple(sorted(points))))
    return found


def script(found, axis, title):
    """Returns the gnuplot script. gnuplot writes to its standard output."""
    text = [f'set terminal svg size 900,{max(420, 60 + 22 * len(found))} font "sans-serif,12" background "#ffffff"',
            f'set title "{title}"', "set logscale xy", f'set xlabel "{axis}"',
            'set ylabel "µs"', 'set format y "%g"', 'set grid lc rgb "#dddddd"', "set key outside right top Left reverse",
            "set encoding utf8", "unset mouse"]
    curves = []
    for number, line in enumerate(found):
        points = "\n".join(f"{size:g} {cost:g}" for size, cost in line.points)
        text.append(f"$line{number} << END\n{points}\nEND")
        colour = COLOURS[number % len(COLOURS)]
        name = line.label.replace('"', "'")
        curves.append(f'$line{number} with linespoints lc rgb "{colour}" lw 1.5 pt 7 ps 0.5 title "{name}" noenhanced')
    return "\n".join([*text, "plot " + ", ".join(curves)]) + "\n"


def licensed(svg):
    declaration, _, rest = svg.partition("\n")
    return f"{declaration}\n<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->\n{rest}"


def draw(figures, folder):
    """Draws each part over each kind of size that it was measured with. Returns the names of the files."""
    names = []
    axes = {(figure.part, axis) for figure in figures for axis, _ in figure.under}
    for part, axis in sorted(axes):
        found = lines(figures, part, axis)
        if not found:
            continue
        name = f"performance-{part}-{axis.replace('_', '-')}.svg"
        drawn = subprocess.run(["gnuplot", "-"], input=script(found, axis, f"{part}: cost by {axis}"), text=True, check=True,
                               stdout=subprocess.PIPE).stdout
        (folder / name).write_text(licensed(drawn), encoding="utf-8")
        names.append(name)
    return names
