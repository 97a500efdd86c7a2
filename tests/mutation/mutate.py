#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures which small changes of genvd's code the tests notice. `./dev test --mutate` calls it in this order:

    mutate.py copy                  make build/mutate/tree a copy of this tree
    mutate.py plan                  choose mutants, and write them into the copy; it needs a configured build of the copy
    mutate.py run [FOLDER]          try each mutant, or those of a folder, and print the table and the survivors
    mutate.py check FOLDER          only check the name of a folder
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import choice
import kinds
import report
import sources
import suites
import trial

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "mutate"
COPY = FOLDER / "tree"
BUILD = FOLDER / "build"
PLAN = FOLDER / "plan.json"
RESULTS = FOLDER / "results.json"
ROOMS = ("core", "policy", "dbus", "service")
# Code that genvd shares with other programs, whose tests are not run here, and a program of the build.
LEFT_OUT = ("core/base/command_line/", "core/documentation/")
# Some of the chosen mutants may not compile.
SPARE = 1.03


class Failure(Exception):
    """Ends the program with a message."""


def number_from(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdigit():
        raise Failure(f'invalid {name} "{text}": expected a number')
    return int(text)


def workers() -> "concurrent.futures.Executor":
    return concurrent.futures.ProcessPoolExecutor(os.cpu_count())


def texts_of(mutants: "dict[int, kinds.Candidate]") -> "dict[str, bytes]":
    """Returns the mutated sources by path."""
    files: "dict[str, list[tuple[int, kinds.Candidate]]]" = {}
    for number, mutant in mutants.items():
        files.setdefault(mutant.file, []).append((number, mutant))
    return {file: sources.mutated((ROOT / file).read_bytes(), rows) for file, rows in files.items()}


def read_plan() -> "tuple[int, dict[int, kinds.Candidate]]":
    if not PLAN.exists():
        return 0, {}
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    return plan["seed"], {int(number): kinds.Candidate(**row) for number, row in plan["mutants"].items()}


def copy() -> None:
    """Files with mutants of the last plan stay, because the next plan may be the same."""
    sources.write(ROOT, COPY, {}, {mutant.file for mutant in read_plan()[1].values()})


def plan() -> None:
    import compilation  # needs libclang

    seed, wanted = number_from("GENV_MUTATION_SEED", 1), number_from("GENV_MUTANTS", 200)
    units = compilation.units(BUILD, COPY, ROOT, ROOMS)
    with workers() as pool:
        found: "set[kinds.Candidate]" = set()
        found = found.union(*pool.map(compilation.candidates_in, units, [ROOT] * len(units), [ROOMS] * len(units)))
        chosen = choice.choose([c for c in found if not c.file.startswith(LEFT_OUT)], round(wanted * SPARE), seed)
        mutants = dict(enumerate(chosen, 1))
        replaced = {str(ROOT / file): text.decode() for file, text in texts_of(mutants).items()}
        wrong = [error for errors in pool.map(compilation.errors_in, units, [replaced] * len(units)) for error in errors]
    for file, line, message in wrong:
        broken = [number for number, mutant in mutants.items()
                  if str(ROOT / mutant.file) == file and mutant.line <= line <= mutant.last_line]
        for number in broken:
            print(f"{mutants[number].file}:{line}: mutant {number} does not compile: {message}")
            del mutants[number]
    rows = {number: dataclasses.asdict(mutant) for number, mutant in mutants.items()}
    sources.write(ROOT, COPY, texts_of(mutants))
    PLAN.write_text(json.dumps({"seed": seed, "mutants": rows}, indent=1), encoding="utf-8")
    print(f"chose {len(mutants)} of {len(found)} possible mutants in {len({m.file for m in mutants.values()})} files, "
          f"with GENV_MUTATION_SEED={seed}")


def measured(pool: "concurrent.futures.Executor", found: "list[suites.Suite]", mutants: int) -> "list[trial.Reach]":
    """Returns what each suite reaches, and prints which are left out."""
    failures: "list[str]" = []

    def measure(suite: suites.Suite) -> "trial.Reach | None":
        try:
            return trial.measure(suite, mutants, pathlib.Path(name))
        except trial.SuiteFailed as failure:
            failures.append(str(failure))
            return None

    with tempfile.TemporaryDirectory(prefix="genv-mutate.") as name:
        os.chmod(name, 0o755)
        reaches = list(pool.map(measure, found))
    if failures:
        raise Failure("\n".join(failures))
    for suite, reach in zip(found, reaches):
        if reach is None:
            print(f"left out, because it skips itself or is too slow: {suite.name}")
    return [reach for reach in reaches if reach is not None]


def run(folder: str) -> bool:
    seed, mutants = read_plan()
    mutants = {number: mutant for number, mutant in mutants.items() if folder in ("", mutant.room)}
    listing = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True, capture_output=True)
    found = suites.suites(json.loads(listing.stdout)["tests"], str(BUILD), os.geteuid() == 0)
    budget = number_from("GENV_MUTANT_SECONDS", 240)
    results: "dict[int, trial.Outcome]" = {}
    lock = threading.Lock()

    def attempt(number: int) -> None:
        outcome = trial.attempt(number, reaches, budget)
        with lock:
            results[number] = outcome
            mutant = mutants[number]
            print(f"{len(results):4} of {len(mutants)}  {mutant.file}:{mutant.line}: "
                  + (f"killed by {outcome.by}{', by its time' if outcome.by_time else ''}" if outcome.killed
                     else f"survived: {report.reason(outcome)}"), flush=True)

    # The tests on a bus mostly wait.
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        print(f"running {len(found)} suites without a mutant", flush=True)
        reaches = measured(pool, found, max(read_plan()[1], default=0))
        list(pool.map(attempt, mutants))
    RESULTS.write_text(json.dumps({number: dataclasses.asdict(results[number]) for number in sorted(results)}, indent=1),
                       encoding="utf-8")
    print("\n".join(["", *report.survivors(ROOT, mutants, results), "", f"GENV_MUTATION_SEED={seed}",
                     *report.table(mutants, results)]))
    return report.is_enough(results)


def main(command: str, folder: str = "") -> int:
    try:
        if folder and folder not in ROOMS:
            print(f'dev: unknown folder "{folder}": expected core, policy, dbus or service', file=sys.stderr)
            return 2
        if command == "run":
            return 0 if run(folder) else 1
        {"copy": copy, "plan": plan, "check": lambda: None}[command]()
        return 0
    except (Failure, RuntimeError) as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        os._exit(130)  # sys.exit() would wait for the workers
