// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/bars.hpp"
#include "client/top/cell_text.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>

namespace genv::top::tests {
namespace {

class TopText : public testing::Test {
  protected:
    TopText() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
};

std::string textOfLine(const Line& line) {
    std::string text;
    for (const Span& span : line)
        text += span.text;
    return text;
}

TEST_F(TopText, WhatATerminalCouldTakeForACommandIsEscaped) {
    EXPECT_EQ(safe("a\x1b[2Jb\n", Charset::Unicode), "a\\x1b[2Jb\\x0a");
    EXPECT_EQ(safe("\xe2\x80\xae"
                   "c",
                   Charset::Unicode),
              "\\xe2\\x80\\xaec"); // right-to-left override
    EXPECT_EQ(safe("\xff", Charset::Unicode), "\\xff");
}

TEST_F(TopText, OnlyAsciiIsShownInACLocale) {
    EXPECT_EQ(safe("f\u00fcr", Charset::Unicode), "f\u00fcr");
    EXPECT_EQ(safe("f\u00fcr", Charset::Ascii), "f\\xc3\\xbcr");
}

TEST_F(TopText, WideAndCombiningCharactersTakeTheirCells) {
    EXPECT_EQ(cellsOf("\u6a5f\u68b0", Charset::Unicode), 4);
    EXPECT_EQ(cellsOf("e\u0301", Charset::Unicode), 1);
    EXPECT_EQ(fitted("\u6a5f\u68b0", 3, Charset::Unicode), "\u6a5f\u2026");
    EXPECT_EQ(fitted("\u6a5f\u68b0", 2, Charset::Unicode), "\u2026 ");
    EXPECT_EQ(fitted("ab", 4, Charset::Unicode, Align::Right), "  ab");
    EXPECT_EQ(fitted("abcdef", 4, Charset::Ascii), "abc~");
}

TEST_F(TopText, LinesAreCutWithAMark) {
    const Line line{{"abc", style::plain}, {"def", style::bold}};
    EXPECT_EQ(textOfLine(cutLine(line, 6, Charset::Ascii)), "abcdef");
    EXPECT_EQ(textOfLine(cutLine(line, 5, Charset::Ascii)), "abcd~");
    EXPECT_EQ(textOfLine(cutLine(line, 3, Charset::Ascii)), "ab~");
}

TEST_F(TopText, SentencesAreBrokenAtSpaces) {
    EXPECT_EQ(wrapped("one two three", 8, Charset::Ascii),
              (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrapped("abcdefgh", 3, Charset::Ascii),
              (std::vector<std::string>{"abc", "def", "gh"}));
}

TEST_F(TopText, AmountsAreShort) {
    EXPECT_EQ(shortAmount(0), "0M");
    EXPECT_EQ(shortAmount(std::uint64_t{512} << 20), "512M");
    EXPECT_EQ(shortAmount(std::uint64_t{1536} << 20), "1.5G");
    EXPECT_EQ(shortAmount(std::uint64_t{81559} << 20), "80G");
    EXPECT_EQ(usedOf(std::uint64_t{12} << 30, std::uint64_t{80} << 30), "12/80G");
    EXPECT_EQ(usedOf(std::uint64_t{12} << 20, std::uint64_t{80} << 30), "12M/80G");
    EXPECT_EQ(usedOf(0, std::uint64_t{80} << 30), "0/80G");
    EXPECT_EQ(usedOf(std::nullopt, std::uint64_t{80} << 30), "?/80G");
}

TEST_F(TopText, BarsHaveTheirWidthWhateverTheyShow) {
    for (const double part : {0.0, 0.001, 0.33, 0.5, 0.999, 1.0, 7.0}) {
        for (const Charset charset : {Charset::Ascii, Charset::Unicode}) {
            for (const std::size_t width : {0U, 1U, 7U, 20U})
                EXPECT_EQ(cellsOf(bar(part, width, style::good, charset), charset), width) << part;
        }
    }
    EXPECT_EQ(textOfLine(bar(0.5, 4, style::good, Charset::Ascii)), "##..");
    for (const Span& span : bar(0.5, 4, style::good, Charset::Unicode))
        EXPECT_TRUE(span.style.isGraph) << "a selected row would reverse it";
    EXPECT_EQ(textOfLine(bar(0.5, 4, style::good, Charset::Unicode)), "\u2588\u2588\u00b7\u00b7");
}

TEST_F(TopText, ASparklineLeavesUnknownTimesEmpty) {
    History history = unknownHistory;
    history.back() = 100;
    EXPECT_EQ(textOfLine(sparkline(history, 10, Charset::Ascii)), "         #");
    EXPECT_EQ(sparklineWidth(9), 0);
    EXPECT_EQ(sparklineWidth(19), 15);
    EXPECT_EQ(sparklineWidth(100), 60);
}

} // namespace
} // namespace genv::top::tests
