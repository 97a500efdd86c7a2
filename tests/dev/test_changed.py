#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that ./dev check selects the changed sources and their tests."""

import pathlib
import subprocess
import tempfile
import unittest

import changed


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("core", "service", "service/gpu", "client", "remote"):
            (self.root / "tests" / name).mkdir(parents=True)
            (self.root / "tests" / name / "CMakeLists.txt").touch()

    def folder_of(self, path):
        found = changed.test_folder_of(pathlib.PurePath(path), self.root / "tests")
        return str(found) if found else None

    def test_a_source_is_tested_in_the_folder_of_its_name_or_the_nearest_above(self):
        self.assertEqual(self.folder_of("core/rules/rule.cpp"), "core")
        self.assertEqual(self.folder_of("service/gpu/nvml_gpus.cpp"), "service/gpu")
        self.assertEqual(self.folder_of("service/loop/worker.cpp"), "service")

    def test_a_folder_of_the_client_may_have_tests_of_its_own(self):
        self.assertEqual(self.folder_of("client/remote/ssh.cpp"), "remote")
        self.assertEqual(self.folder_of("client/genvctl/text.cpp"), "client")

    def test_a_test_is_its_own(self):
        self.assertEqual(self.folder_of("tests/service/gpu/a_test.cpp"), "service/gpu")

    def test_what_nobody_tests_has_none(self):
        self.assertIsNone(self.folder_of("bench/core/rules_bench.cpp"))
        self.assertIsNone(self.folder_of("main.cpp"))

    def folders_of(self, *paths):
        return [str(folder) for folder in changed.folders_of(list(map(pathlib.PurePath, paths)), self.root / "tests")]

    def test_what_is_built_from_a_room_is_tested_too(self):
        (self.root / "tests/bus").mkdir()
        self.assertEqual(self.folders_of("core/a.cpp"), ["core", "service", "bus"])
        self.assertEqual(self.folders_of("service/gpu/a.cpp"), ["service/gpu", "bus"])
        self.assertEqual(self.folders_of("core/a.cpp", "service/gpu/a.cpp"), ["core", "service", "bus"])
        self.assertEqual(self.folders_of("client/genvctl/text.cpp"), ["client"])

    def test_what_is_left_out_is_named(self):
        self.assertEqual(changed.others([pathlib.PurePath("service/gpu")], self.root / "tests"), ["client", "core", "remote"])

    def git(self, *arguments):
        subprocess.run(
            ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments],
            check=True, capture_output=True,
        )

    def test_what_differs_from_the_last_commit_counts_or_else_what_that_changed(self):
        self.git("init", "-q")
        (self.root / "core").mkdir()
        for name in ("core/a.cpp", "core/b.hpp", "core/page.md"):
            (self.root / name).write_text("1", encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "all")
        self.assertEqual(list(map(str, changed.changed(self.root))), ["core/a.cpp", "core/b.hpp"])
        (self.root / "core/b.hpp").write_text("2", encoding="utf-8")
        (self.root / "core/c.cpp").write_text("3", encoding="utf-8")
        self.assertEqual(list(map(str, changed.changed(self.root))), ["core/b.hpp", "core/c.cpp"])


if __name__ == "__main__":
    unittest.main()
