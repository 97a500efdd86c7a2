#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which suites a listing of ctest has."""

import sys
import unittest

sys.dont_write_bytecode = True

import suites  # noqa: E402

BUILD = "/no-build"


def test_of(name, *command, labels=("unit",), **properties):
    rows = [{"name": "LABELS", "value": list(labels)}, *({"name": key, "value": value} for key, value in properties.items())]
    return {"name": name, "command": list(command), "properties": rows}


def names(*tests, with_bus=True):
    return [suite.name for suite in suites.suites(list(tests), BUILD, with_bus)]


class Suites(unittest.TestCase):
    def test_the_cases_of_a_suite_are_one(self):
        found = suites.suites([test_of("core.Queue.IsFair", "/bin/core_tests", "--gtest_filter=Queue.IsFair"),
                               test_of("core.Queue.Ends", "/bin/core_tests", "--gtest_filter=Queue.Ends"),
                               test_of("core.All/Rules.Hold/1", "/bin/core_tests", "--gtest_filter=All/Rules.Hold/1")],
                              BUILD, True)
        self.assertEqual([(suite.name, suite.command[1]) for suite in found],
                         [("core_tests: All/Rules", "--gtest_filter=All/Rules.*"),
                          ("core_tests: Queue", "--gtest_filter=Queue.*")])

    def test_a_test_on_a_bus_is_one_suite_and_needs_root(self):
        test = test_of("bus.Waits", "/private-bus", "--", "/bin/bus_tests", "--gtest_filter=Waits.*", labels=("bus",))
        self.assertEqual(names(test), ["bus.Waits"])
        self.assertEqual(names(test, with_bus=False), [])

    def test_tests_of_other_folders_and_the_second_bus_are_left_out(self):
        self.assertEqual(names(test_of("client.Options.Are", "/a"), test_of("broker.Waits", "/a"), test_of("core.x", "/a")),
                         ["core.x"])

    def test_tests_of_texts_are_left_out(self):
        self.assertEqual(names(test_of("faults.table", "/a", labels=())), [])

    def test_what_is_not_built_is_left_out(self):
        self.assertEqual(names({"name": "core.core_tests_NOT_BUILT"}, test_of("core.x", BUILD + "/core_tests")), [])

    def test_the_folder_and_the_variables_of_a_test_are_kept(self):
        found = suites.suites([test_of("core.x", "/a", WORKING_DIRECTORY="/b", ENVIRONMENT=["A=1"])], BUILD, True)
        self.assertEqual((found[0].folder, found[0].variables), ("/b", ("A=1",)))


if __name__ == "__main__":
    unittest.main()
