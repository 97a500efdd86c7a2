// SPDX-License-Identifier: LGPL-2.1-or-later
// Users take turns, and the items of each user keep their order.
#include "core/queue/turns.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::tests {
namespace {

class Turns : public ::testing::Test {
  protected:
    std::string takeAll() {
        std::string taken;
        while (const auto item = turns.take([this](char c) { return c != unwanted; }))
            taken += *item;
        return taken;
    }

    core::Turns<char> turns;
    char unwanted = 0;
};

TEST_F(Turns, KeepTheOrderOfOneUser) {
    for (const char item : {'a', 'b', 'c'})
        turns.add(1, item);
    EXPECT_EQ(takeAll(), "abc");
    EXPECT_EQ(takeAll(), "");
}

TEST_F(Turns, GiveEachUserTheNextItemWhateverTheNumberOfOthers) {
    for (const char item : {'a', 'b', 'c', 'd'})
        turns.add(1, item);
    turns.add(3, 'y');
    turns.add(2, 'w');
    turns.add(2, 'x');
    EXPECT_EQ(takeAll(), "awybxcd");
}

TEST_F(Turns, GoOnAfterTheUserWhoWasServedLast) {
    turns.add(2, 'a');
    EXPECT_EQ(turns.take([](char) { return true; }), 'a');
    turns.add(1, 'c');
    turns.add(2, 'd');
    turns.add(3, 'b');
    EXPECT_EQ(takeAll(), "bcd");
}

TEST_F(Turns, AreNotUsedUpByItemsThatNobodyWantsAnyMore) {
    unwanted = '-';
    turns.add(1, '-');
    turns.add(1, 'a');
    turns.add(2, '-');
    turns.add(2, '-');
    turns.add(3, 'c');
    turns.add(2, 'b');
    EXPECT_EQ(takeAll(), "abc");
}

} // namespace
} // namespace genv::tests
