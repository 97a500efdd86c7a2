// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/output.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

TEST(TopOutput, HasSequencesOnlyWhereTheyAreWanted) {
    const std::vector<PageLine> lines{{{{"a", style::bad}, {"b ", style::plain}}, {}, false}};
    EXPECT_EQ(textOf(lines, TextEmphasis::None), "ab\n");
    EXPECT_EQ(textOf(lines, TextEmphasis::Attributes), "\x1b[1ma\x1b[0mb\n");
    EXPECT_EQ(textOf(lines, TextEmphasis::Colors), "\x1b[1;31ma\x1b[0mb\n");
}

TEST(TopOutput, NoLineEndsInSpacesOnAPipe) {
    const std::string text = textOf(wholePage(frameWith(8), {}, 120), TextEmphasis::None);
    EXPECT_EQ(text.find(" \n"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TopOutput, JsonHasTheStateAndTheLists) {
    const ctl::Json json = jsonOf(frameWith(8), {{1}, {2}, nullptr, {4}});
    EXPECT_EQ(json["driver"], "550.54.15");
    EXPECT_EQ(json["cluster"], nullptr);
    EXPECT_EQ(json["devices"], ctl::Json::array({1}));
    EXPECT_EQ(json["environments"], ctl::Json::array({2}));
    EXPECT_EQ(json["processes"], nullptr);
    EXPECT_EQ(json["queue"], ctl::Json::array({4}));
}

} // namespace
} // namespace genv::top::tests
