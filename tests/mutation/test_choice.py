#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which mutants are chosen, and which operator becomes which."""

import dataclasses
import sys
import unittest

sys.dont_write_bytecode = True

import choice  # noqa: E402
import kinds  # noqa: E402
from example import candidate  # noqa: E402


def many(room, number):
    return [candidate(f"{room}/{index // 10}.cpp", begin=10 * index, end=10 * index + 5, original=f"{index} && b") for index in range(number)]


class Choice(unittest.TestCase):
    def test_the_same_seed_chooses_the_same_whatever_the_order(self):
        found = many("core", 500) + many("dbus", 300)
        self.assertEqual(choice.choose(found, 50, 3), choice.choose(found[::-1], 50, 3))

    def test_another_seed_chooses_others(self):
        found = many("core", 500)
        self.assertNotEqual(choice.choose(found, 50, 3), choice.choose(found, 50, 4))

    def test_a_change_of_the_code_leaves_the_others_chosen(self):
        before = choice.choose(many("core", 500), 50, 1)
        moved = [dataclasses.replace(mutant, begin=mutant.begin + 1, end=mutant.end + 1) for mutant in many("core", 500)]
        after = choice.choose(moved[1:] + [candidate("core/a.cpp")], 50, 1)
        self.assertGreaterEqual(len({mutant.original for mutant in before} & {mutant.original for mutant in after}), 48)

    def test_many_files_get_one(self):
        self.assertGreater(len({mutant.file for mutant in choice.choose(many("core", 500), 50, 1)}), 25)

    def test_no_two_are_the_same_place(self):
        same = [candidate(begin=begin, end=begin + 1) for begin in range(0, 100, 2)]
        self.assertEqual(len({mutant.begin for mutant in choice.choose(same, 20, 1)}), 20)

    def test_a_room_gets_its_share_and_a_small_room_some(self):
        self.assertEqual(choice.shares({"core": 600, "dbus": 390, "policy": 10}, 100), {"core": 60, "dbus": 39, "policy": 5})

    def test_no_more_are_chosen_than_there_are(self):
        self.assertEqual(len(choice.choose(many("core", 3), 200, 1)), 3)

    def test_none_is_inside_another(self):
        outer, inner = candidate(begin=0, end=100), candidate(begin=10, end=20)
        self.assertEqual(len(choice.choose([outer, inner], 2, 1)), 1)
        self.assertEqual(len(choice.choose([candidate(begin=0, end=10), inner], 2, 1)), 2)


class Kinds(unittest.TestCase):
    def test_a_comparison_differs_where_both_sides_are_equal(self):
        self.assertEqual(kinds.replaced_operator("a", "<", "b"), ("comparison", "<="))
        self.assertEqual(kinds.replaced_operator("a", "==", "b"), ("comparison", "!="))

    def test_a_comparison_with_0_becomes_its_opposite(self):
        self.assertEqual(kinds.replaced_operator("read()", "<", "0"), ("comparison", ">="))

    def test_an_operator_that_is_not_in_a_table_stays(self):
        self.assertIsNone(kinds.replaced_operator("a", "<<", "b"))

    def test_1_becomes_0_where_it_is_added(self):
        self.assertEqual(kinds.without_one("a", "+", "1"), "a + 0")
        self.assertIsNone(kinds.without_one("a", "*", "1"))
        self.assertIsNone(kinds.without_one("a", "+", "2"))

    def test_the_code_is_the_original_unless_the_number_is_selected(self):
        self.assertEqual(kinds.code(7, "expression", "a && b", "a || b"), "(::genv::tests::mutant(7) ? (a || b) : (a && b))")
        self.assertEqual(kinds.code(7, "truth", "a", "!(a)"), "(::genv::tests::mutant(7) != static_cast<bool>(a))")
        self.assertEqual(kinds.code(7, "statement", "f();", ""), "{ if (!::genv::tests::mutant(7)) { f(); } }")
        self.assertEqual(kinds.code(7, "statement", "break;", "continue;"),
                         "{ if (::genv::tests::mutant(7)) { continue; } break; }")

    def test_a_text_with_a_comment_is_not_written_in_one_line(self):
        self.assertFalse(kinds.can_repeat("a && // why\n b"))
        self.assertTrue(kinds.can_repeat("a &&\n b"))


if __name__ == "__main__":
    unittest.main()
