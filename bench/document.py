# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the figures in data/doc/performance.md between two marks, so that none of them is typed by hand.

The page has the targets, plots, and the times of programs. build/bench/figures.json has all figures.
"""

import itertools
import re

from figures import conditions, spread, times, value
from plots import TIMES, lines

BEGIN = "<!-- What follows is written by `./dev bench --document`. -->"
END = "<!-- The end of what is written by `./dev bench --document`. -->"

# The parts with a section of their own.
PARTS = {
    "bus": "Over the bus",
    "processes": "Programs and shells",
    "core": "The core by itself",
    "peers": "Beside other programs",
}
# Of these, a plot or the targets show enough.
WITHOUT_TABLE = ("bus", "core", "peers")

# Figures for developers only.
DETAILS = re.compile(r"^yardstick |^processor time|, processor$|^growth of |^time per row|^longest Ping|^memory after all lists|^busctl |: prompt, |, typed$|^genvctl version$")


def rows(cells):
    return ["| " + " | ".join(line) + " |" for line in cells]


def markdown(header, cells):
    return [*rows([header]), "|" + "---|" * len(header), *rows(cells)]


def usual(under):
    """Returns conditions without the default, one call at a time."""
    return tuple(pair for pair in under if pair != ("in_flight", 1))


def worst(targets, figures):
    """Returns the figure of targets with one bound that comes closest to missing it, or None."""
    concerned = [figure for figure in figures if any(target.concerns(figure) for target in targets)]
    if targets[0].holds.startswith("ratio"):
        concerned = [figure for figure in concerned if figure.ratio is not None]
        return max(concerned, key=lambda figure: figure.ratio, default=None)
    return max(concerned, key=lambda figure: figure.median, default=None)


def with_spread(figure):
    return f"{value(figure)} {spread(figure)}".rstrip()


def promises(figures, targets):
    """Returns the targets with the figure that comes closest to missing each. Targets with the same bound and conditions
    share a row."""
    cells, measured_parts = [], {figure.part for figure in figures}
    for (part, under, _), group in itertools.groupby(targets, key=lambda target: (target.part, target.under, target.holds)):
        same = list(group)
        missing = [target for target in same if worst([target], figures) is None]
        measured = [target for target in same if target not in missing]
        short = same[0].short.replace("<=", "≤")
        if measured:
            figure = worst(measured, figures)
            relation = f"{times(figure.ratio)} × {figure.reference}" if figure.ratio is not None else ""
            missed = any(target.concerns(each) and not target.met_by(each, figures) for target in measured for each in figures)
            names, special = "; ".join(target.name for target in measured), usual(under)
            cells.append([f"{part}: {names}" + (f" with {conditions(special)}" if special else ""), with_spread(figure),
                          relation, short + (" **missed**" if missed else "")])
        cells += [[target.title, "not measured", "", short] for target in missing if part in measured_parts]
    return markdown(["figure", "median", "measured", "target"], cells)


def shown(figures):
    """Returns the figures of a part for the page: times and memory, of one call at a time. A reference of others is in
    their ratios."""
    references = {figure.reference for figure in figures}
    return [figure for figure in figures
            if figure.unit in (*TIMES, "h", "MiB", "GiB") and dict(figure.under).get("in_flight", 1) == 1
            and not DETAILS.search(figure.name) and figure.name not in references]


def section(figures, part, targets):
    """Returns the table of a part, without figures that the plots or the targets have."""
    own = [figure for figure in figures if figure.part == part]
    plotted = {(line.name, axis) for axis in {what for figure in own for what, _ in figure.under}
               for line in lines(own, part, axis)}
    rest = [figure for figure in shown(own)
            if not any((figure.name, axis) in plotted for axis, _ in figure.under)
            and not any(target.concerns(figure) for target in targets)]
    if not rest:
        return []
    common = set.intersection(*(set(figure.under) for figure in rest))
    header, cells = ["figure", "with", "median", "relative to"], []
    for figure in rest:
        special = usual(tuple(pair for pair in figure.under if pair not in common))
        cells.append([figure.name, conditions(special) if special else "", with_spread(figure),
                      f"{times(figure.ratio)} × {figure.reference}" if figure.ratio is not None else ""])
    used = [column for column, name in enumerate(header) if any(line[column] for line in cells)]
    flat = markdown([header[column] for column in used], [[line[column] for column in used] for line in cells])
    common = usual(tuple(sorted(common)))
    return ["", f"With {conditions(common)}:", "", *flat] if common else ["", *flat]


def caption(title, part, name):
    return title.lower() + (": cost against size" if name != f"performance-{part}.svg" else "")


def generated(whole, figures, targets, plots):
    """Returns the text between the marks."""
    machine = whole["machine"]
    text = [f"Measured on {machine['date']} at commit {machine['commit']}: {machine['cpu']}, {machine['cores']} cores, "
            f"Linux {machine['kernel']}, {machine['bus']}. Of " +
            ", ".join(f"{name} {version}" for name, version in machine["versions"].items()) + "."]
    if machine["quick"]:
        text += ["", "A quick run, with few rounds: the figures are rough."]
    text += ["", "## Targets", "", *promises(figures, targets)]
    for part, title in PARTS.items():
        if any(figure.part == part for figure in figures):
            text += ["", f"## {title}", *([] if part in WITHOUT_TABLE else section(figures, part, targets))]
            text += [line for name in plots if name.startswith((f"performance-{part}-", f"performance-{part}."))
                     for line in ("", f"![{caption(title, part, name)}]({name})")]
    return "\n".join(text) + "\n"


def replaced(page, text):
    """Returns the page with this text between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page lacks the marks around the figures")
    return f"{before}{BEGIN}\n{text}{END}{after}"
