# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures and targets as values: parses lines of figures, compares them with targets, and prints both as a table."""

import dataclasses
import fnmatch
import json
import re

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "bytes": 1.0, "MiB": 1048576.0, "per minute": 1.0, "1": 1.0}
WIDTH = 80


class Invalid(Exception):
    """A line that is not a valid figure or target."""


@dataclasses.dataclass(frozen=True)
class Figure:
    part: str
    name: str
    under: tuple  # of (what, number): the conditions of the measurement
    unit: str
    median: float
    reference: str | None = None  # what the ratio is relative to, measured in the same run
    ratio: float | None = None
    others: tuple = ()  # percentiles and other values of a part

    @property
    def key(self):
        return self.part, self.name, self.under

    def object(self):
        """Returns the figure as in figures.json, which has the same form as the output of the parts."""
        whole = {"part": self.part, "name": self.name, "with": dict(self.under), "unit": self.unit, "median": self.median}
        whole.update(self.others)
        if self.reference is not None:
            whole.update(reference=self.reference, ratio=self.ratio)
        return whole


def read_figure(line):
    """Parses a figure from a line, or from an object of this form."""
    try:
        whole = dict(json.loads(line)) if isinstance(line, str) else dict(line)
        known = {name: whole.pop(name) for name in ("part", "name", "unit", "median")}
        under = tuple(sorted(dict(whole.pop("with", {})).items()))
        reference, ratio = whole.pop("reference", None), whole.pop("ratio", None)
    except (ValueError, TypeError, KeyError) as error:
        raise Invalid(f"invalid figure: {line}") from error
    numbers = [known["median"], *(number for _, number in under), *([ratio] if reference is not None else [])]
    if known["unit"] not in UNITS or not all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers):
        raise Invalid(f"invalid figure: {line}")
    return Figure(**known, under=under, reference=reference, ratio=ratio, others=tuple(whole.items()))


def read_figures(lines):
    """Parses figures from lines. A duplicate is an error, because it would be unclear which of the two is valid."""
    figures = [read_figure(line) for line in lines if not isinstance(line, str) or line.strip()]
    seen = set()
    for figure in figures:
        if figure.key in seen:
            raise Invalid(f"{figure.part}: {figure.name} with {conditions(figure.under)} was reported twice")
        seen.add(figure.key)
    return figures


def merged(former, measured, parts):
    """Returns the measured figures, with the omitted parts from a previous run of the same sources.

    Both have the form of figures.json: {"machine": ..., "figures": [...]}."""
    same = ("commit", "cpu", "kernel", "quick")
    if former is None or any(former["machine"].get(what) != measured["machine"].get(what) for what in same):
        return measured
    kept = [figure for figure in former["figures"] if figure["part"] not in parts]
    return {"machine": measured["machine"], "figures": kept + measured["figures"]}


def conditions(under):
    return " ".join(f"{what}={number:g}" for what, number in under) or "nothing else"


# Targets

MOST = re.compile(r"^(?P<ratio>ratio )?<= (?P<number>[\d.]+)(?: (?P<unit>.+))?$")


@dataclasses.dataclass(frozen=True)
class Target:
    part: str
    name: str  # of one figure, or a pattern with * for several
    under: tuple  # the conditions that must match; a figure may have more
    holds: str  # the condition as written
    slack: float  # for noise: the fraction by which the bound may be exceeded
    limit: str  # the reason why the figure cannot improve

    @property
    def title(self):
        return f"{self.part}: {self.name}" + (f" with {conditions(self.under)}" if self.under else "")

    def concerns(self, figure):
        return (figure.part == self.part and fnmatch.fnmatchcase(figure.name, self.name)
                and set(self.under) <= set(figure.under))

    def misses(self, figures):
        """Returns a sentence for each figure that misses the target. A missing figure also misses the target."""
        concerned = [figure for figure in figures if self.concerns(figure)]
        if not concerned:
            return [f"{self.title}: not measured"]
        return [f"{self.title}: {shown(figure, self)}, expected {self.holds}"
                for figure in concerned if not self.met_by(figure)]

    def met_by(self, figure):
        """Returns whether one figure is within the bound plus slack."""
        most = MOST.match(self.holds)
        bound = float(most["number"]) * (1 + self.slack)
        if most["ratio"]:
            return figure.ratio is not None and figure.ratio <= bound
        return figure.median * UNITS[figure.unit] <= bound * UNITS[most["unit"] or figure.unit]

    @property
    def short(self):
        """Returns the target for a table cell."""
        most = MOST.match(self.holds)
        return f"<= {float(most['number']):g}" + (f" {most['unit']}" if most["unit"] not in (None, "1") else "")


def shown(figure, target):
    what = value(figure)
    if target.holds.startswith("ratio"):
        what = f"{figure.ratio:.2f} of {figure.reference}" if figure.ratio is not None else "no ratio"
    return f"{what} with {conditions(figure.under)}"


def read_target(line):
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 5 or ": " not in cells[0]:
        raise Invalid(f"invalid target: {line}")
    part, _, name = cells[0].partition(": ")
    most, slack = MOST.match(cells[2]), re.match(r"^(\d+) %$", cells[3])
    if not slack or not most or (most["unit"] or "1") not in UNITS:
        raise Invalid(f"invalid target: {line}")
    try:
        under = tuple(sorted((what, float(number)) for what, number in (pair.split("=") for pair in cells[1].split())))
    except ValueError as error:
        raise Invalid(f"invalid target: {line}") from error
    return Target(part, name, under, cells[2], int(slack[1]) / 100, cells[4])


def read_targets(text):
    """Parses the table bench/targets."""
    return [read_target(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def target_of(figure, targets):
    """Returns the most specific target for a figure, or None."""
    concerned = [target for target in targets if target.concerns(figure)]
    return max(concerned, key=lambda target: (target.name == figure.name, len(target.under)), default=None)


def misses(figures, targets):
    return [miss for target in targets for miss in target.misses(figures)]


# The table

def number(value):
    """Formats a number with three significant digits."""
    if value == 0 or value == int(value) and abs(value) < 100000:
        return f"{value:g}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def value(figure):
    """Formats a figure. A time gets the most suitable unit."""
    if figure.unit not in ("µs", "ms", "s"):
        return f"{number(figure.median)} {figure.unit}".removesuffix(" 1")
    seconds = figure.median * UNITS[figure.unit]
    unit = "µs" if seconds < 0.001 else "ms" if seconds < 1 else "s"
    return f"{number(float(f'{seconds / UNITS[unit]:.6g}'))} {unit}"


def times(ratio):
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"


def cut(text, width):
    return text if len(text) <= width else text[:width - 1] + "…"


def table(figures, targets):
    """Returns a table for a terminal, by part and size. No line is longer than WIDTH."""
    lines = [row("", "median", "reference", "ratio", "target")]
    groups = {}
    for figure in figures:
        groups.setdefault((figure.part, figure.under), []).append(figure)
    for (part, under), group in groups.items():
        lines += ["", cut(part + (f": {conditions(under)}" if under else ""), WIDTH)]
        for figure in group:
            target = target_of(figure, targets)
            must = "" if target is None else target.short + ("" if target.met_by(figure) else " NO")
            lines.append(row(figure.name, value(figure), figure.reference or "",
                             "" if figure.ratio is None else times(figure.ratio), must))
    return "\n".join(lines) + "\n"


def row(name, shown_value, reference, ratio, must):
    return f"{cut(name, 32):32} {cut(shown_value, 11):>11} {cut(reference, 16):16} {ratio:>6} {cut(must, 11)}".rstrip()
