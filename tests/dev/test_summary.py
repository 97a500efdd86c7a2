#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which results summary.py must reject."""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import summary

GTEST_SKIP = """[ RUN      ] Suite.case
/src/a_test.cpp:12: Skipped
no {why} here
[  SKIPPED ] Suite.case (0 ms)
[==========] 3 tests from 1 test suite ran. (1 ms total)
"""


def entry(name, status="run", output="", inside=""):
    text = output.replace("&", "&amp;").replace("<", "&lt;")
    return f'<testcase name="{name}" status="{status}">{inside}<system-out>{text}</system-out></testcase>'


def drivers(gpu, exists=os.path.exists):
    """Returns os.path.exists of a machine with or without NVIDIA's driver."""
    return lambda path: gpu if path == "/dev/nvidiactl" else exists(path)


class Summary(unittest.TestCase):
    def summarize(self, entries, labels=None, ctest_status="0", gpu=False, failures=None):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if entries is not None:
                (folder / "results.xml").write_text(f"<testsuite>{''.join(entries)}</testsuite>", encoding="utf-8")
            (folder / "ctest-status").write_text(ctest_status, encoding="utf-8")
            tests = [{"name": n, "properties": [{"name": "LABELS", "value": v}]} for n, v in (labels or {}).items()]
            (folder / "tests.json").write_text(json.dumps({"tests": tests}), encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output), mock.patch("os.path.exists", drivers(gpu)):
                good = summary.summarize(folder, failures)
            return good, output.getvalue()

    def test_passing_tests_are_good_and_counted_by_case(self):
        good, text = self.summarize([entry("a"), entry("b", output="[==========] 3 tests from 1 test suite ran. (1 ms)\n")])
        self.assertTrue(good)
        self.assertIn("4 tests, 0 failed, 0 skipped", text)

    def test_a_failure_is_not_good_and_named(self):
        good, text = self.summarize([entry("a", status="fail", inside="<failure message=''/>")], ctest_status="8")
        self.assertFalse(good)
        self.assertIn("failed: a", text)

    def test_a_failure_ends_with_the_last_lines_of_its_output(self):
        output = "".join(f"line {n}\n" for n in range(100))
        _, text = self.summarize([entry("a", "fail", output, "<failure message=''/>"), entry("b", output="fine\n")])
        self.assertIn("failed: a\n    | line 70\n", text)
        self.assertTrue(text.endswith("    | line 99\n"), text)

    def test_a_failure_is_said_in_a_line_with_its_reason(self):
        python = "Traceback (most recent call last):\n  File \"a\", line 1\nAssertionError: the end did not come\n\n----\nRan 7 tests in 151.418s\n\nFAILED (failures=1)\n"
        gtest = "[ RUN      ] A.b\n/src/a_test.cpp:12: Failure\nExpected equality\n[  FAILED  ] A.b (0 ms)\n"
        for output, reason in ((python, "AssertionError: the end did not come"), (gtest, "/src/a_test.cpp:12: Failure"), ("one\nkilled\n", "killed")):
            failures = []
            self.summarize([entry("a", "fail", output, "<failure message=''/>"), entry("b", output="ValueError: fine\n")], failures=failures)
            self.assertEqual([line.partition(": a after 0 s: ")[2] for line in failures], [reason])

    def test_a_skipped_test_is_not_good_and_says_why(self):
        skipped = entry("a", "notrun", "private-bus: skipped: needs root\n", '<skipped message="SKIP_RETURN_CODE=77"/>')
        good, text = self.summarize([entry("b"), skipped])
        self.assertFalse(good)
        self.assertIn("(not expected): a: needs root", text)

    def test_a_machine_may_be_skipped_only_where_none_can_be_booted(self):
        skipped = entry("a", "notrun", "machine: skipped: needs namespaces\n", '<skipped message="x"/>')
        for can_boot in (True, False):
            with mock.patch("summary.can_boot", return_value=can_boot):
                good, text = self.summarize([entry("b"), skipped], {"a": ["bus", "machine"]})
            self.assertEqual(good, not can_boot)
            self.assertIn(("(not expected): " if can_boot else "skipped: ") + "a: needs namespaces", text)
            with mock.patch("summary.can_boot", return_value=can_boot):
                self.assertFalse(self.summarize([entry("b"), skipped], {"a": ["bus"]})[0])

    def test_a_test_with_a_file_system_may_be_skipped_only_where_none_can_be_mounted(self):
        skipped = entry("a", output=GTEST_SKIP.format(why="FUSE"))
        for can_mount in (True, False):
            with mock.patch("summary.can_mount_fuse", return_value=can_mount):
                good, text = self.summarize([entry("b"), skipped], {"a": ["bus", "fuse"]})
            self.assertEqual(good, not can_mount)
            self.assertIn("a: Suite.case: no FUSE here", text)

    def test_a_test_of_the_gate_may_be_skipped_only_where_no_program_can_be_loaded(self):
        skipped = entry("a", output=GTEST_SKIP.format(why="bpf"))
        for can_load in (True, False):
            with mock.patch("summary.can_load", return_value=can_load):
                self.assertEqual(self.summarize([entry("b"), skipped], {"a": ["bpf"]})[0], not can_load)

    def test_a_test_with_clang_14_may_be_skipped_only_without_it(self):
        skipped = entry("a", "notrun", "SKIPPED: no Clang\n", '<skipped message="x"/>')
        for clang in ("/usr/bin/clang-14", None):
            with mock.patch("summary.shutil.which", return_value=clang):
                self.assertEqual(self.summarize([entry("b"), skipped], {"a": ["clang-14"]})[0], clang is None)

    def test_a_test_for_a_gpu_may_be_skipped_only_without_one(self):
        skipped = entry("a", "notrun", GTEST_SKIP.format(why="GPU"), '<skipped message="x"/>')
        good, text = self.summarize([skipped], {"a": ["gpu"]})
        self.assertTrue(good)
        self.assertIn("a: no GPU here", text)
        self.assertFalse(self.summarize([skipped], {"a": ["gpu"]}, gpu=True)[0])

    def test_a_case_that_skipped_itself_in_a_passing_program_is_found(self):
        good, text = self.summarize([entry("a", output=GTEST_SKIP.format(why="root"))])
        self.assertFalse(good)
        self.assertIn("a: Suite.case: no root here", text)

    def test_a_program_that_was_not_built_is_a_failure(self):
        missing = entry("a", "notrun", "Unable to find executable: /a", '<skipped message="Unable to find executable"/>')
        self.assertFalse(self.summarize([missing], {"a": ["gpu"]})[0])

    def test_no_results_and_no_tests_are_not_good(self):
        self.assertFalse(self.summarize(None)[0])
        self.assertFalse(self.summarize([])[0])

    def test_ctest_failing_by_itself_is_not_good(self):
        self.assertFalse(self.summarize([entry("a")], ctest_status="1")[0])


if __name__ == "__main__":
    unittest.main()
