#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which suites run for a mutant, and what counts as killed."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import trial  # noqa: E402
from suites import Suite  # noqa: E402


def reach(name, seconds=1.0, mutants=(1,), on_bus=False):
    return trial.Reach(Suite(name, (name,), "/", on_bus=on_bus), seconds, frozenset(mutants))


def shell(text):
    return Suite("core.x", ("sh", "-c", text), "/")


class Attempt(unittest.TestCase):
    def attempt(self, *reaches, failing=(), hanging=(), budget=100.0):
        self.ran = []

        def runner(suite, variables, _limit):
            self.assertEqual(variables, {"GENV_MUTANT": "1"})
            self.ran.append(suite.name)
            return (None if suite.name in hanging else 1 if suite.name in failing else 0), ""

        return trial.attempt(1, list(reaches), budget, runner)

    def test_only_suites_that_reach_it_run_the_cheapest_first_and_those_on_a_bus_last(self):
        outcome = self.attempt(reach("slow", 5), reach("bus", 0.5, on_bus=True), reach("fast"), reach("other", mutants=(2,)))
        self.assertEqual(self.ran, ["fast", "slow", "bus"])
        self.assertEqual((outcome.killed, outcome.ran, outcome.reaching), (False, 3, 3))

    def test_the_first_suite_that_fails_kills_it(self):
        outcome = self.attempt(reach("a", 1), reach("b", 2), reach("c", 3), failing=("b",))
        self.assertEqual((self.ran, outcome.killed, outcome.by, outcome.by_time), (["a", "b"], True, "b", False))

    def test_a_suite_that_hangs_kills_it_by_its_time(self):
        outcome = self.attempt(reach("a"), hanging=("a",))
        self.assertEqual((outcome.killed, outcome.by_time), (True, True))

    def test_a_mutant_that_no_suite_reaches_survives(self):
        self.assertEqual(self.attempt(reach("a", mutants=(2,))), trial.Outcome(False))

    def test_no_suite_starts_that_would_exceed_its_time(self):
        outcome = self.attempt(reach("a", 1), reach("b", 200))
        self.assertEqual((self.ran, outcome.killed, outcome.ran, outcome.reaching), (["a"], False, 1, 2))


class Run(unittest.TestCase):
    def test_tells_the_status_and_passes_the_number(self):
        status, text = trial.run(shell("echo $GENV_MUTANT $GTEST_FAIL_FAST; exit 3"), {"GENV_MUTANT": "17"}, 60)
        self.assertEqual((status, text), (3, "17 1\n"))

    def test_a_suite_whose_time_is_up_has_no_status(self):
        self.assertEqual(trial.run(shell("sleep 600"), {}, 0.1)[0], None)

    def measure(self, text):
        with tempfile.TemporaryDirectory() as folder:
            return trial.measure(shell(text), 3, pathlib.Path(folder))

    def test_what_a_suite_reaches_is_what_it_marks(self):
        found = self.measure(r'printf "\0\1\0\1" >"$GENV_MUTANTS_REACHED"')
        self.assertEqual(found.mutants, {1, 3})

    def test_a_suite_that_skips_itself_is_left_out(self):
        self.assertIsNone(self.measure("exit 77"))

    def test_a_suite_that_fails_without_a_mutant_is_an_error_with_its_output(self):
        with self.assertRaisesRegex(trial.SuiteFailed, "core.x fails without a mutant:\nwhy"):
            self.measure("echo why; exit 1")


if __name__ == "__main__":
    unittest.main()
