# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the figures in data/doc/performance.md between two marks, so that none of them is typed by hand."""

import dataclasses

from figures import conditions, number, times, value
from plots import TIMES, lines

BEGIN = "<!-- What follows is written by `./dev bench --document`. -->"
END = "<!-- The end of what is written by `./dev bench --document`. -->"

PARTS = {
    "bus": "Over the bus",
    "processes": "Programs and shells",
    "core": "The core by itself",
    "top": "genv-top",
    "nvml": "The NVML filter",
    "slurm": "Slurm's hooks",
    "gpu": "A real GPU",
    "isolation": "The kernel's gate",
    "cluster": "A large Slurm cluster",
    "remote": "Many hosts",
}


MATRICES = ((TIMES, "µs"), (("1",), "ratio"), (("MiB",), "MiB"), (("bytes",), "bytes"))


def rows(cells):
    return ["| " + " | ".join(line) + " |" for line in cells]


def markdown(header, cells):
    return [*rows([header]), "|" + "---|" * len(header), *rows(cells)]


def worst(target, figures):
    """Returns the figure of a target that comes closest to missing it, or None."""
    concerned = [figure for figure in figures if target.concerns(figure)]
    if target.holds.startswith("ratio"):
        concerned = [figure for figure in concerned if figure.ratio is not None]
        return max(concerned, key=lambda figure: figure.ratio, default=None)
    return max(concerned, key=lambda figure: figure.median, default=None)


def promises(figures, targets):
    """Returns each target with the figure that comes closest to missing it."""
    cells = []
    for target in targets:
        figure = worst(target, figures)
        if figure is None:
            cells.append([target.title, "not measured", "", target.short.replace("<=", "≤"), target.limit])
            continue
        relation = f"{times(figure.ratio)} × {figure.reference}" if figure.ratio is not None else ""
        must = target.short.replace("<=", "≤") + ("" if target.met_by(figure) else " **missed**")
        cells.append([f"{figure.part}: {figure.name}, {conditions(figure.under)}", value(figure), relation, must,
                      target.limit])
    return markdown(["figure", "median", "measured", "target", "limited by"], cells)


def by_size(figures, part, units, title):
    """Returns a matrix of the figures by the number of environments, and the names in it."""
    found = lines(figures, part, "environments", units)
    if not found:
        return [], set()
    sizes = sorted({size for line in found for size, _ in line.points})
    common = set.intersection(*(set(line.rest) for line in found))
    cells = []
    for line in found:
        # One call at a time is the default.
        own = tuple(pair for pair in line.rest if pair not in common and pair != ("in_flight", 1))
        values = dict(line.points)
        cells.append([f"{line.name} ({conditions(own)})" if own else line.name,
                      *(number(values[size]) if size in values else "" for size in sizes)])
    header = f"{title} by environments" + (f", {conditions(sorted(common))}" if common else "")
    return [*markdown([header, *(f"{size:g}" for size in sizes)], cells), ""], {line.name for line in found}


def latest(figure):
    """Returns the 99th percentile, if the part reports it."""
    late = dict(figure.others).get("p99")
    return "" if late is None else value(dataclasses.replace(figure, median=late))


def section(figures, part):
    matrices, named = [], set()
    for units, title in MATRICES:
        matrix, names = by_size(figures, part, units, title)
        matrices += matrix
        named |= names
    rest = [figure for figure in figures if figure.part == part and figure.name not in named]
    common = set.intersection(*(set(figure.under) for figure in rest)) if rest else set()
    header, cells = ["figure", "with", "median", "99 %", "relative to"], []
    for figure in rest:
        own = tuple(pair for pair in figure.under if pair not in common)
        cells.append([figure.name, conditions(own) if own else "", value(figure), latest(figure),
                      f"{times(figure.ratio)} × {figure.reference}" if figure.ratio is not None else ""])
    used = [column for column, name in enumerate(header) if any(line[column] for line in cells)]
    flat = markdown([header[column] for column in used], [[line[column] for column in used] for line in cells])
    if common:
        flat = [f"With {conditions(sorted(common))}:", "", *flat]
    return matrices + flat if rest else matrices[:-1]


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
            text += ["", f"## {title}", "", *section(figures, part)]
            text += [line for name in plots if name.startswith(f"performance-{part}-")
                     for line in ("", f"![{title.lower()}: cost against size]({name})")]
    return "\n".join(text) + "\n"


def replaced(page, text):
    """Returns the page with this text between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page lacks the marks around the figures")
    return f"{before}{BEGIN}\n{text}{END}{after}"
