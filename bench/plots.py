# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots cost against size, and genv beside other programs, as SVG, with gnuplot."""

import dataclasses
import subprocess

from figures import UNITS

TIMES = ("µs", "ms", "s")
LEAST_POINTS = 3
COLORS = ("#1b6ca8", "#d1495b", "#3b8132", "#8a4fbf", "#c77700", "#00818a", "#7a5230", "#b83280", "#4a5568", "#a0a000",
           "#0a4d8c", "#e0794b")


# What the plot of peers compares: the title of each panel, its unit, and the figures by their labels.
PANELS = (
    ("a command on a GPU", "ms", {
        "the least on the bus": ("peers", "floor"), "flock": ("peers", "flock"), "task-spooler": ("peers", "tsp"),
        "genvctl run": ("peers", "genvctl run"), "srun": ("peers", "srun")}),
    ("from an end to the next start", "ms", {
        "flock": ("peers", "hand-over of flock"), "task-spooler": ("peers", "hand-over of tsp"),
        "genvctl run": ("peers", "hand-over"), "genvctl submit": ("jobs", "hand-over")}),
    ("200 jobs of true on 4 GPUs", "s", {
        "task-spooler": ("peers", "jobs by tsp, time"), "genvctl run, by xargs": ("peers", "jobs by xargs, time"),
        "genvctl submit": ("jobs", "jobs of true"), "sbatch": ("jobs", "sbatch of true")}),
)


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
        color = COLORS[number % len(COLORS)]
        name = line.label.replace('"', "'")
        curves.append(f'$line{number} with linespoints lc rgb "{color}" lw 1.5 pt 7 ps 0.5 title "{name}" noenhanced')
    return "\n".join([*text, "plot " + ", ".join(curves)]) + "\n"


def bars(figures):
    """Returns the panels of PANELS as (title, unit, [(label, value in the unit)]), with the measured figures. Leaves out a panel with
    fewer than two figures."""
    medians = {(figure.part, figure.name): figure.median * UNITS[figure.unit] for figure in figures}
    panels = [(title, unit, [(label, medians[key] / UNITS[unit]) for label, key in keys.items() if key in medians])
              for title, unit, keys in PANELS]
    return [panel for panel in panels if len(panel[2]) > 1]


def bar_script(panels):
    """Returns the gnuplot script of bars() with a panel below the other."""
    rows = sum(len(values) + 2 for _, _, values in panels)
    text = [f'set terminal svg size 900,{28 * rows} font "sans-serif,12" background "#ffffff"', "set encoding utf8",
            "unset mouse", "unset key", "set style fill solid", f"set multiplot layout {len(panels)},1", "set lmargin 24",
            "set xtics nomirror", "set ytics nomirror scale 0", "set border 1"]
    for number, (title, unit, values) in enumerate(panels):
        places = range(len(values), 0, -1)
        points = "\n".join(f"{place} {value:g}" for place, (_, value) in zip(places, values))
        names = ", ".join(f'"{label}" {place}' for place, (label, _) in zip(places, values))
        text += [f"$panel{number} << END\n{points}\nEND", f'set title "{title}, {unit}" offset 0,-0.5', f"set ytics ({names})",
                 f"set yrange [0.4:{len(values) + 0.6}]", f"set xrange [0:{1.12 * max(value for _, value in values):g}]",
                 f'plot $panel{number} using (0):1:(0):2:($1-0.35):($1+0.35) with boxxyerror lc rgb "{COLORS[0]}", '
                 f'$panel{number} using 2:1:(sprintf("%.3g", $2)) with labels left offset 0.5,0']
    return "\n".join([*text, "unset multiplot"]) + "\n"


def svg_of(script):
    return licensed(subprocess.run(["gnuplot", "-"], input=script, text=True, check=True, stdout=subprocess.PIPE).stdout)


def licensed(svg):
    declaration, _, rest = svg.partition("\n")
    return f"{declaration}\n<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->\n{rest}"


def draw(figures, folder):
    """Draws each part over each kind of size that it was measured with, and the peers. Returns the names of the files."""
    names = []
    if panels := bars(figures):
        names.append("performance-peers.svg")
        (folder / names[0]).write_text(svg_of(bar_script(panels)), encoding="utf-8")
    axes = {(figure.part, axis) for figure in figures for axis, _ in figure.under}
    for part, axis in sorted(axes):
        found = lines(figures, part, axis)
        if not found:
            continue
        name = f"performance-{part}-{axis.replace('_', '-')}.svg"
        (folder / name).write_text(svg_of(script(found, axis, f"{part}: cost by {axis}")), encoding="utf-8")
        names.append(name)
    return names
