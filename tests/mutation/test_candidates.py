#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which places of a source can be mutated."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

try:
    import clang.cindex
except ImportError:
    print("skipped: python3-clang-14 is missing")
    sys.exit(77)

import compilation  # noqa: E402
import sources  # noqa: E402

START = """// license
#include <chrono>
void use(int); bool is(int); struct Log { void warning(int); }; struct List { void reserve(int); };
#define TWICE(x) (2 * (x))
"""


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.file = self.root / "core/a.cpp"
        self.file.parent.mkdir()

    def found(self, text, name="core/a.cpp"):
        self.file.write_text(START + text, encoding="utf-8")
        unit = compilation.Unit("unit", f'#include "{self.root / name}"\n', ("-std=c++20",))
        return compilation.candidates_in(unit, self.root, ("core",))

    def changes(self, text):
        return sorted((candidate.original, candidate.mutated) for candidate in self.found(text))

    def test_comparisons_logic_and_numbers(self):
        self.assertEqual(self.changes("int f(int a, int b) { use(a < b || is(a)); return a + b; }"),
                         [("a + b", "a - b"), ("a < b", "a <= b"), ("a < b || is(a)", "(a < b) && is(a)"),
                          ("use(a < b || is(a));", "")])

    def test_moments(self):
        self.assertIn(("a < b", "a <= b"), self.changes(
            "bool f(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) { return a < b; }"))

    def test_an_operand_stays_one(self):
        self.assertIn(("a || b || c", "(a || b) && c"), self.changes("bool f(bool a, bool b, bool c) { return a || b || c; }"))

    def test_braces_in_a_text_stay(self):
        self.assertIn(("a == int{}", "a != int{}"), self.changes("bool f(int a) { return a == int{}; }"))

    def test_conditions_and_results(self):
        self.assertEqual(self.changes("bool f(int a) { if (int b = a; is(b)) return true; return is(a) ? is(1) : is(2); }"),
                         [("is(a)", "!(is(a))"), ("is(a) ? is(1) : is(2)", "!(is(a) ? is(1) : is(2))"), ("is(b)", "!(is(b))"),
                          ("true", "false")])

    def test_statements_also_without_braces(self):
        self.assertEqual(self.changes("void f(int* a) { if (a) use(1); else *a = 2; ++*a; }"),
                         [("*a = 2;", ""), ("++*a;", ""), ("a", "!(a)"), ("use(1);", "")])

    def test_breaks_of_loops_but_not_of_a_switch(self):
        self.assertEqual(self.changes("void f(int a) { for (int i : {1, 2}) { if (i) continue; else break; }\n"
                                      "switch (a) { case 1: break; default: break; } }"),
                         [("break;", "continue;"), ("continue;", "break;"), ("i", "!(i)")])

    def test_what_the_compiler_must_know_is_left_out(self):
        self.assertEqual(self.changes("constexpr int f(int a) { return a + 1; }\nconstexpr int x = f(1) + 2;\n"
                                      "static_assert(x == 4); enum E { A = 1 + 2 };\n"
                                      "template <int I> int g() { if constexpr (I == 2) return I; return 0; }\n"
                                      "int h(int a) { switch (a) { case 1 + 2: return 1; } return 0; }"), [])

    def test_what_a_macro_makes_is_left_out(self):
        self.assertEqual(self.changes("int f(int a) { return TWICE(a + a); }"), [])

    def test_what_no_test_can_see_is_left_out(self):
        self.assertEqual(self.changes("void f(Log log, List list, int a) { log.warning(a + 1); list.reserve(a + 1); }"), [])
        self.assertEqual(self.changes("int f() { int a = 0; for (int i = 0; i < 3; ++i) a += i; return a; }"),
                         [("a += i;", "")])

    def test_other_folders_and_headers_are_left_out(self):
        (self.root / "core/b.hpp").write_text("inline bool g(int a) { return a == 1; }\n", encoding="utf-8")
        self.assertEqual(self.changes('#include "b.hpp"\nint x;\n'), [])

    def test_the_code_with_all_mutants_compiles_and_errors_are_found(self):
        text = "bool f(int a, int b) {\n    if (a < b)\n        use(a);\n    else\n        use(b);\n    return a > 0;\n}\n"
        chosen = [c for c in self.found(text) if c.form != "truth"]
        self.assertEqual(len(chosen), 4)
        header = "#pragma once\nnamespace genv::tests { inline bool mutant(int) { return false; } }\n"
        unit = compilation.Unit("unit", header + f'#include "{self.file}"\n', ("-std=c++20",))
        mutated = sources.mutated(self.file.read_bytes(), enumerate(chosen, 1)).decode().removeprefix(sources.HEADER)
        self.assertEqual(compilation.errors_in(unit, {str(self.file): mutated}), [])
        wrong = compilation.errors_in(unit, {str(self.file): mutated.replace("use(a)", "use(c)")})
        self.assertEqual([(file, line) for file, line, _ in wrong], [(str(self.file), 7)])


class Options(unittest.TestCase):
    def test_only_those_of_a_parser_are_kept(self):
        words = "c++ -DA=1 -I/a -isystem /b -w -std=c++20 -include /pch.hxx -Winvalid-pch -o x.o -c x.cpp".split()
        self.assertEqual(compilation.options_of(words), ["-DA=1", "-I/a", "-isystem", "/b", "-std=c++20"])


if __name__ == "__main__":
    assert clang.cindex
    unittest.main()
