# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures and targets as values: parses lines of figures, compares them with targets, and prints both as a table."""

import dataclasses
import fnmatch
import json
import re

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "h": 3600.0, "bytes": 1.0, "MiB": 1048576.0, "GiB": 1073741824.0,
         "per minute": 1.0, "1": 1.0}
WIDTH = 80
NAME_WIDTH = 28


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

    @property
    def spread(self):
        """Returns by how much a measurement of ten was longer than the median, such as 0.12, or None if it is unknown."""
        p90 = dict(self.others).get("p90")
        return p90 / self.median - 1 if p90 is not None and self.median > 0 else None

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

MOST = re.compile(r"^(?P<ratio>ratio )?<= (?P<number>[\d.]+)(?: (?P<unit>.+?))?(?: by (?P<yardstick>\w+))?$")
YARDSTICK = re.compile(r"^yardstick (?P<name>\w+) = (?P<number>[\d.]+) ms$")


@dataclasses.dataclass(frozen=True)
class Target:
    part: str
    name: str  # of one figure, or a pattern with * for several
    under: tuple  # the conditions that must match; a figure may have more
    holds: str  # the condition as written
    slack: float  # for noise: the fraction by which the bound may be exceeded
    limit: str  # the reason why the figure cannot improve
    yardstick: Figure | None = None  # on the machine of the bound, which a slower yardstick raises

    @property
    def title(self):
        return f"{self.part}: {self.name}" + (f" with {conditions(self.under)}" if self.under else "")

    def concerns(self, figure):
        return (figure.part == self.part and fnmatch.fnmatchcase(figure.name, self.name)
                and set(self.under) <= set(figure.under))

    def misses(self, figures):
        """Returns a sentence for each figure that misses the target. A missing figure also misses the target."""
        concerned = [figure for figure in figures if self.concerns(figure)]
        if not concerned or self.scale(figures) is None:
            return [f"{self.title}: " + (f"{self.yardstick.name} " if concerned else "") + "not measured"]
        here = f", here times {self.scale(figures):.2f}" if self.yardstick else ""
        return [f"{self.title}: {shown(figure, self)}, expected {self.holds}{here}"
                for figure in concerned if not self.met_by(figure, figures)]

    def scale(self, figures):
        """Returns how much slower the yardstick was before this part than on the machine of the bound, or None if it was
        not measured."""
        if self.yardstick is None:
            return 1.0
        return next((figure.median / self.yardstick.median for figure in figures
                     if (figure.part, figure.name) == (self.part, self.yardstick.name)), None)

    def met_by(self, figure, figures):
        """Returns whether one of these figures is within the bound plus slack."""
        most = MOST.match(self.holds)
        bound = float(most["number"]) * (1 + self.slack) * (self.scale(figures) or 0)
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


def read_target(line, yardsticks=None):
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 5 or ": " not in cells[0]:
        raise Invalid(f"invalid target: {line}")
    part, _, name = cells[0].partition(": ")
    most, slack = MOST.match(cells[2]), re.match(r"^(\d+) %$", cells[3])
    yardstick = (yardsticks or {}).get(most["yardstick"]) if most else None
    if not slack or not most or (most["unit"] or "1") not in UNITS or bool(most["yardstick"]) != bool(yardstick):
        raise Invalid(f"invalid target: {line}")
    try:
        under = tuple(sorted((what, float(number)) for what, number in (pair.split("=") for pair in cells[1].split())))
    except ValueError as error:
        raise Invalid(f"invalid target: {line}") from error
    return Target(part, name, under, cells[2], int(slack[1]) / 100, cells[4], yardstick)


def read_targets(text):
    """Parses the table bench/targets."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    yardsticks = {found["name"]: Figure("", f"yardstick {found['name']}", (), "ms", float(found["number"]))
                  for found in map(YARDSTICK.match, lines) if found}
    return [read_target(line, yardsticks) for line in lines if not YARDSTICK.match(line)]


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


def spread(figure):
    return "" if figure.spread is None else f"+{100 * figure.spread:.0f} %"


def cut(text, width):
    return text if len(text) <= width else text[:width - 1] + "…"


def table(figures, targets):
    """Returns a table for a terminal, by part and size. No line is longer than WIDTH, and a long name has its own."""
    lines = [row("", "median", "spread", "reference", "ratio", "target")]
    groups = {}
    for figure in figures:
        groups.setdefault((figure.part, figure.under), []).append(figure)
    for (part, under), group in groups.items():
        lines += ["", cut(part + (f": {conditions(under)}" if under else ""), WIDTH)]
        for figure in group:
            target = target_of(figure, targets)
            must = "" if target is None else target.short + ("" if target.met_by(figure, figures) else " NO")
            name = figure.name
            if len(name) > NAME_WIDTH:
                lines.append(cut(name, WIDTH))
                name = ""
            lines.append(row(name, value(figure), spread(figure), figure.reference or "",
                             "" if figure.ratio is None else times(figure.ratio), must))
    return "\n".join(lines) + "\n"


def row(name, shown_value, shown_spread, reference, ratio, must):
    return (f"{name:{NAME_WIDTH}} {cut(shown_value, 10):>10} {cut(shown_spread, 6):>6} {cut(reference, 14):14} {ratio:>6} "
            f"{cut(must, 11)}").rstrip()
