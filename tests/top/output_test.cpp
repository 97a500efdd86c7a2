// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/output.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

TEST(TopOutput, HasSequencesOnlyWhereTheyAreWanted) {
    const std::vector<PageLine> lines{{{{"a", style::bad}, {"b ", style::plain}}, {}, false}};
    EXPECT_EQ(textOf(lines, Emphasis::None), "ab\n");
    EXPECT_EQ(textOf(lines, Emphasis::Attributes), "\x1b[1ma\x1b[0mb\n");
    EXPECT_EQ(textOf(lines, Emphasis::Colours), "\x1b[1;31ma\x1b[0mb\n");
}

TEST(TopOutput, NoLineEndsInSpacesOnAPipe) {
    const std::string text = textOf(wholePage(frameWith(8), {}, 120), Emphasis::None);
    EXPECT_EQ(text.find(" \n"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TopOutput, JsonHasWhatWasChosen) {
    Choice choice;
    choice.gpus = {1};
    const ctl::Json json = jsonOf(frameWith(8), choice);
    ASSERT_EQ(json["gpus"].size(), 1);
    EXPECT_EQ(json["gpus"][0]["holders"][0]["user"], "bob");
    EXPECT_EQ(json["gpus"][0]["holders"][0]["expires"], nullptr);
    ASSERT_EQ(json["processes"].size(), 1);
    EXPECT_EQ(json["processes"][0]["pid"], 4001);
    EXPECT_EQ(json["queue"].size(), 2);
    EXPECT_EQ(json["driver"], "550.54.15");
}

} // namespace
} // namespace genv::top::tests
