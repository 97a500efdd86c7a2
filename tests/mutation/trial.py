# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs test suites: once without a mutant, to learn which mutants each reaches, and then for each mutant those suites
that reach it, until one fails."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import typing

from suites import Suite

SKIPPED = 77
# A suite without a mutant that fails may have met another load of the machine.
TRIES = 3
LIMIT_WITHOUT_MUTANT = 120.0


@dataclasses.dataclass(frozen=True)
class Reach:
    """What a suite does without a mutant."""

    suite: Suite
    seconds: float
    mutants: "frozenset[int]"

    @property
    def limit(self) -> float:
        """The seconds after which it counts as hanging."""
        return 20 + 4 * self.seconds


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What happened to a mutant. `by` is the suite that killed it. `ran` of the `reaching` suites ran."""

    killed: bool
    by: str = ""
    by_time: bool = False
    ran: int = 0
    reaching: int = 0


class SuiteFailed(Exception):
    """A suite fails without a mutant. The argument is its output."""


def run(suite: Suite, variables: "dict[str, str]", limit: float) -> "tuple[int | None, str]":
    """Runs a suite, and ends all its processes. Returns its exit status, or None if its time is up, and its output."""
    environment = {**os.environ, "GTEST_FAIL_FAST": "1", **dict(pair.split("=", 1) for pair in suite.variables), **variables}
    # However this process ends, the suite ends with it.
    command = ["setpriv", "--pdeathsig", "KILL", "--", *suite.command]
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, cwd=suite.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                status: "int | None" = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        output.seek(0)
        return status, output.read().decode(errors="replace")


def measure(suite: Suite, mutants: int, folder: pathlib.Path) -> "Reach | None":
    """Runs a suite without a mutant. Returns None if it skips itself or is too slow, and raises SuiteFailed if it fails."""
    record = folder / (suite.name.replace("/", "_").replace(" ", "") + ".reached")
    text = ""
    for _ in range(TRIES):
        record.write_bytes(bytes(mutants + 1))
        record.chmod(0o666)
        began = time.monotonic()
        status, text = run(suite, {"GENV_MUTANTS_REACHED": str(record)}, LIMIT_WITHOUT_MUTANT)
        if status in (SKIPPED, None):
            return None
        if status == 0:
            reached = frozenset(number for number, byte in enumerate(record.read_bytes()) if byte)
            return Reach(suite, time.monotonic() - began, reached)
    raise SuiteFailed(f"{suite.name} fails without a mutant:\n{text[-4000:]}")


def in_order(reaches: "typing.Iterable[Reach]", mutant: int) -> "list[Reach]":
    """Returns the suites that reach a mutant, the cheapest first, and those on a bus last."""
    return sorted((reach for reach in reaches if mutant in reach.mutants),
                  key=lambda reach: (reach.suite.on_bus, reach.seconds, reach.suite.name))


def attempt(mutant: int, reaches: "list[Reach]", budget: float,
            runner: "typing.Callable[[Suite, dict[str, str], float], tuple[int | None, str]]" = run) -> Outcome:
    """Runs the suites that reach a mutant until one fails, and starts no other once `budget` seconds are used."""
    suites = in_order(reaches, mutant)
    spent = 0.0
    for number, reach in enumerate(suites):
        if spent and spent + reach.seconds > budget:
            return Outcome(False, ran=number, reaching=len(suites))
        began = time.monotonic()
        status, _ = runner(reach.suite, {"GENV_MUTANT": str(mutant)}, reach.limit)
        spent += time.monotonic() - began
        if status not in (0, SKIPPED):
            return Outcome(True, reach.suite.name, status is None, number + 1, len(suites))
    return Outcome(False, ran=len(suites), reaching=len(suites))
