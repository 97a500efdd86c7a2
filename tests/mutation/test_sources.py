#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the mutated copy of a tree."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import sources  # noqa: E402
from example import candidate  # noqa: E402

TEXT = b"// license\nbool f(bool a, bool b) {\n    return a &&\n           b;\n}\n"


class Mutated(unittest.TestCase):
    def test_lines_keep_their_numbers(self):
        begin = TEXT.index(b"a &&")
        text = sources.mutated(TEXT, [(3, candidate(begin=begin, end=TEXT.index(b";"), original="a && b", mutated="a || b"))])
        self.assertEqual(text.count(b"\n"), TEXT.count(b"\n"))
        self.assertIn(b"(::genv::tests::mutant(3) ? (a || b) : (a &&\n           b));", text)
        self.assertTrue(text.startswith(b'#include "tests/mutation/mutant.hpp" // license\n'))

    def test_each_mutant_is_at_its_own_place(self):
        text = sources.mutated(b"// x\na b", [(1, candidate(begin=5, end=6, form="truth")),
                                              (2, candidate(begin=7, end=8, form="truth"))])
        self.assertIn(b"(::genv::tests::mutant(1) != static_cast<bool>(a)) (::genv::tests::mutant(2) != static_cast<bool>(b))",
                      text)


class Copy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.copy = pathlib.Path(folder.name, "tree"), pathlib.Path(folder.name, "copy")
        for name, text in (("core/a.cpp", "a"), ("core/b.cpp", "b"), ("build/x", ""), ("tests/build/y", ""), (".git/z", "")):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        (self.root / "run").symlink_to("core/a.cpp")
        (self.root / "core/b.cpp").chmod(0o755)

    def files(self):
        return {str(path) for path in sources.files_of(self.copy)}

    def test_it_has_all_but_builds_and_the_repository(self):
        sources.write(self.root, self.copy, {})
        self.assertEqual(self.files(), {"core/a.cpp", "core/b.cpp", "tests/build/y", "run"})
        self.assertEqual(os.readlink(self.copy / "run"), "core/a.cpp")
        self.assertTrue(os.access(self.copy / "core/b.cpp", os.X_OK))

    def test_only_what_changes_gets_a_new_time(self):
        sources.write(self.root, self.copy, {"core/a.cpp": b"mutated"})
        for path in ("core/a.cpp", "core/b.cpp"):
            os.utime(self.copy / path, (1, 1))
        sources.write(self.root, self.copy, {"core/a.cpp": b"mutated", "core/b.cpp": b"mutated"})
        self.assertEqual((self.copy / "core/a.cpp").stat().st_mtime, 1)
        self.assertNotEqual((self.copy / "core/b.cpp").stat().st_mtime, 1)
        self.assertEqual((self.root / "core/b.cpp").read_text(encoding="utf-8"), "b")

    def test_a_source_without_a_mutant_is_the_original_again(self):
        sources.write(self.root, self.copy, {"core/a.cpp": b"mutated"})
        sources.write(self.root, self.copy, {}, {"core/a.cpp"})
        self.assertEqual((self.copy / "core/a.cpp").read_bytes(), b"mutated")
        sources.write(self.root, self.copy, {})
        self.assertEqual((self.copy / "core/a.cpp").read_bytes(), b"a")

    def test_a_file_that_the_tree_no_longer_has_is_removed(self):
        sources.write(self.root, self.copy, {})
        (self.root / "core/b.cpp").unlink()
        sources.write(self.root, self.copy, {})
        self.assertNotIn("core/b.cpp", self.files())


if __name__ == "__main__":
    unittest.main()
