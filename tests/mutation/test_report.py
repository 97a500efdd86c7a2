#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the report about mutants, and which share of killed ones is enough."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import report  # noqa: E402
from example import candidate  # noqa: E402
from trial import Outcome  # noqa: E402

KILLED = Outcome(True, "core_tests: Queue", ran=1, reaching=2)


class Report(unittest.TestCase):
    def test_the_table_counts_by_room(self):
        mutants = {1: candidate(), 2: candidate(), 3: candidate("dbus/b.cpp")}
        lines = report.table(mutants, {1: KILLED, 2: Outcome(False), 3: Outcome(True, by_time=True)})
        self.assertEqual([line.split() for line in lines[1:]],
                         [["core", "2", "1", "0", "1", "50.0", "%"], ["dbus", "1", "1", "1", "0", "100.0", "%"],
                          ["total", "3", "2", "1", "1", "66.7", "%"]])

    def test_a_survivor_is_shown_with_its_place_and_its_change(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "core").mkdir()
            text = "// x\n    return a &&\n           b; // why\n"
            (root / "core/a.cpp").write_text(text, encoding="utf-8")
            mutant = candidate(line=2, begin=text.index("a &&"), end=text.index(";"))
            self.assertEqual(report.survivors(root, {4: mutant, 5: mutant}, {4: Outcome(False, ran=2, reaching=2), 5: KILLED}),
                             ["core/a.cpp:2: mutant 4, logic: 2 suites passed",
                              "    - return a && b; // why", "    + return a || b; // why"])

    def test_a_survivor_tells_whether_anything_reaches_it(self):
        self.assertEqual(report.reason(Outcome(False)), "no test reaches it")
        self.assertEqual(report.reason(Outcome(False, ran=2, reaching=9)), "2 of 9 suites passed in its time")

    def test_95_percent_are_enough_and_nothing_is_not(self):
        self.assertTrue(report.is_enough({n: Outcome(n > 5) for n in range(1, 101)}))
        self.assertFalse(report.is_enough({n: Outcome(n > 6) for n in range(1, 101)}))
        self.assertFalse(report.is_enough({}))


if __name__ == "__main__":
    unittest.main()
