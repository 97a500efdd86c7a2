#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which reports coverage.py must reject."""

import contextlib
import io
import unittest

import coverage


def line(count, *branches, noncode=False):
    return {
        "count": count,
        "branches": [{"count": each} for each in branches],
        "gcovr/noncode": noncode,
        "gcovr/excluded": False,
    }


def report(**rooms):
    return {"files": [{"file": f"{room}/a.cpp", "lines": lines} for room, lines in rooms.items()]}


GOOD = [line(1, 1, 1)] * 19 + [line(0, 0, 1)]
AT_THE_LIMIT = [line(1)] * 9 + [line(0)]


class Coverage(unittest.TestCase):
    def judge(self, **rooms):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            good = coverage.judge(report(**{"core": GOOD, "policy": GOOD, "dbus": GOOD, **rooms}))
        return good, output.getvalue()

    def test_takes_what_is_over_the_limit(self):
        good, output = self.judge()
        self.assertTrue(good)
        self.assertRegex(output, r"core +19 of +20 +95.0 % +39 of +40 +97.5 %")

    def test_refuses_a_room_that_is_at_the_limit_in_lines_or_in_branches(self):
        for lines in (AT_THE_LIMIT, [line(1, *[1] * 9, 0)]):
            good, output = self.judge(dbus=lines)
            self.assertFalse(good)
            self.assertIn("dbus is not over 90 %", output)
            self.assertIn("dbus/a.cpp", output)

    def test_refuses_a_room_of_which_nothing_was_counted(self):
        good, output = self.judge(policy=[])
        self.assertFalse(good)
        self.assertIn("policy is not over 90 %", output)

    def test_does_not_count_lines_without_code(self):
        good, _ = self.judge(core=GOOD + [line(0, noncode=True)] * 100)
        self.assertTrue(good)

    def test_shows_the_other_rooms_and_holds_them_to_nothing(self):
        good, output = self.judge(service=[line(0)])
        self.assertTrue(good)
        self.assertIn("service", output)
        self.assertNotIn("service/a.cpp", output)


if __name__ == "__main__":
    unittest.main()
