#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests requirements.cmake: the messages of a configuration without ./dev about missing or old libraries."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
OLD = 'set(PACKAGE_VERSION 1.1.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\nset(PACKAGE_VERSION_EXACT FALSE)\n'


class Requirements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refusal(self, *arguments, **environment):
        """Returns the sentences of the error."""
        result = subprocess.run(["cmake", "-S", TREE, "-B", self.folder / "build", *arguments], check=False, text=True,
                                capture_output=True, env={**os.environ, **environment})
        self.assertNotEqual(result.returncode, 0, result.stdout)
        return [line.strip() for line in result.stderr.splitlines() if "genv needs" in line]

    def test_each_missing_library_is_named_with_its_packages(self):
        self.assertEqual(self.refusal("-DCMAKE_DISABLE_FIND_PACKAGE_EXPAT=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON"), [
            "genv needs fmt: Debian and Ubuntu call it libfmt-dev, Fedora fmt-devel, Arch fmt",
            "genv needs EXPAT: Debian and Ubuntu call it libexpat1-dev, Fedora expat-devel, Arch expat"])

    def test_each_missing_module_of_pkg_config_is_named_with_its_packages(self):
        sentences = self.refusal(PKG_CONFIG_LIBDIR=str(self.folder), PKG_CONFIG_PATH="")
        self.assertIn("genv needs libsystemd: Debian and Ubuntu call it libsystemd-dev, Fedora systemd-devel, Arch systemd-libs",
                      sentences)
        self.assertEqual(len(sentences), 4, sentences)

    def test_a_library_that_is_too_old_is_named_with_its_version(self):
        (self.folder / "sdbus-c++-config.cmake").write_text("", encoding="utf-8")
        (self.folder / "sdbus-c++-config-version.cmake").write_text(OLD, encoding="utf-8")
        self.assertEqual(self.refusal(f"-Dsdbus-c++_DIR={self.folder}"), [
            "genv needs sdbus-c++ 1.2 or later, before 3, not 1.1.0: "
            "Debian and Ubuntu call it libsdbus-c++-dev, Fedora sdbus-cpp-devel, Arch sdbus-cpp"])

    def test_a_library_that_only_the_tests_use_is_named_too(self):
        self.assertEqual(self.refusal("-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON"),
                         ["genv needs GTest: Debian and Ubuntu call it libgtest-dev, Fedora gtest-devel, Arch gtest"])


if __name__ == "__main__":
    unittest.main()
