#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that ./dev refuses arguments that it does not know, before it builds or runs anything."""

import pathlib
import subprocess
import unittest

DEV = pathlib.Path(__file__).resolve().parent.parent.parent / "dev"


class Refusals(unittest.TestCase):
    def assert_refused(self, sentence, *arguments):
        result = subprocess.run([DEV, *arguments], check=False, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr.splitlines()[-1]), (2, "", f"dev: {sentence}"))

    def test_two_modes_of_test(self):
        modes = "expected one of --quick, --full, --released, --coverage, --mutate or --on"
        self.assert_refused(f"--quick and --full are given: {modes}", "test", "--quick", "--full")
        self.assert_refused(f"--on and --released are given: {modes}", "test", "--on", "trixie", "-R", "core", "--released")
        self.assert_refused(f"--mutate and --coverage are given: {modes}", "test", "--mutate", "core", "--coverage")
        self.assert_refused("--quick and --slurm are given: expected --slurm alone, or with --on", "test", "--slurm", "--quick")

    def test_what_ctest_would_ignore(self):
        self.assert_refused('unknown argument "--fast": expected an option of ctest (ctest --help)', "test", "--fast")
        self.assert_refused('unknown argument "core": expected an option of ctest, such as -R core', "test", "core")
        self.assert_refused('unknown argument "b": expected an option of ctest, such as -R b', "test", "--released", "-R", "a", "b")

    def test_more_folders_than_one(self):
        self.assert_refused('unknown argument "dbus": --mutate takes one folder', "test", "--mutate", "core", "dbus")

    def test_arguments_of_what_takes_none(self):
        for command in ("demo", "lint", "format", "install", "clean"):
            self.assert_refused(f'unknown argument "all": {command} takes none', command, "all")

    def test_unknown_names(self):
        self.assert_refused('unknown command "tests"', "tests")
        self.assert_refused('unknown folder "client": expected core, policy, dbus or service', "test", "--mutate", "client")
        self.assert_refused('unknown preset "fast": expected release, debug, check, asan, tsan, fuzz or coverage', "build", "fast")
        self.assert_refused('no tests in "tests/cores": expected a folder of tests, such as core', "check", "cores")
        self.assert_refused('unknown group "tests": expected demo, build, test, slurm, on, bench, coverage, fuzz, lint or package',
                            "deps", "tests")


if __name__ == "__main__":
    unittest.main()
