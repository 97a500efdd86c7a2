// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/page.hpp"
#include "client/top/text.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

namespace genv::top::tests {
namespace {

struct Shape {
    Size size;
    std::uint32_t gpus;
};
std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
    return stream << shape.size.columns << "x" << shape.size.rows << " with " << shape.gpus;
}

class TopPage : public testing::TestWithParam<Shape> {};

std::size_t rowsOf(const std::vector<PageLine>& lines, Item::Kind kind) {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const PageLine& line) { return line.item && line.item->kind == kind; }));
}

bool shows(const std::vector<PageLine>& lines, std::string_view text) {
    return joined(lines).find(text) != std::string::npos;
}

TEST_P(TopPage, FillsTheTerminalAndNoMore) {
    const Frame frame = frameWith(GetParam().gpus);
    for (const Charset charset : {Charset::Ascii, Charset::Unicode}) {
        for (const Overlay overlay : {Overlay::None, Overlay::Help, Overlay::Details}) {
            Choice choice;
            choice.charset = charset;
            choice.overlay = overlay;
            const auto lines = screenPage(frame, choice, GetParam().size);
            EXPECT_EQ(lines.size(), GetParam().size.rows);
            for (const PageLine& line : lines)
                EXPECT_LE(cellsOf(line.spans, charset), GetParam().size.columns);
            const std::string text = joined(lines);
            EXPECT_TRUE(charset == Charset::Unicode || std::ranges::all_of(text, [](char c) {
                            return c == '\n' || (c >= ' ' && c <= '~');
                        }));
        }
    }
}

TEST_P(TopPage, ShowsEveryRowThatIsSelected) {
    const Frame frame = frameWith(GetParam().gpus);
    if (GetParam().size.rows < 12)
        return;
    Choice choice;
    for (const Gpu& gpu : frame.gpus) {
        choice.selected = Item{Item::Kind::Gpu, gpu.index};
        const auto lines = screenPage(frame, choice, GetParam().size);
        const auto found = std::ranges::find_if(lines, &PageLine::isSelected);
        ASSERT_NE(found, lines.end()) << gpu.index;
        EXPECT_EQ(found->item, choice.selected);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TopPage,
                         testing::Values(Shape{{24, 80}, 2}, Shape{{24, 80}, 8},
                                         Shape{{24, 80}, 64}, Shape{{60, 200}, 2},
                                         Shape{{60, 200}, 8}, Shape{{60, 200}, 64},
                                         Shape{{12, 40}, 2}, Shape{{12, 40}, 8},
                                         Shape{{12, 40}, 64}, Shape{{5, 20}, 2}, Shape{{5, 20}, 8},
                                         Shape{{5, 20}, 64}, Shape{{1, 1}, 2}, Shape{{8, 40}, 8},
                                         Shape{{500, 500}, 64}));

TEST(TopPageRows, EightGpusFitATerminalOf24Lines) {
    const auto lines = screenPage(frameWith(8), {}, {24, 80});
    EXPECT_EQ(rowsOf(lines, Item::Kind::Gpu), 8);
    EXPECT_EQ(rowsOf(lines, Item::Kind::Process), 5);
    EXPECT_EQ(rowsOf(lines, Item::Kind::Waiter), 2);
}

TEST(TopPageRows, TellWhoHoldsWhat) {
    const auto lines = screenPage(frameWith(8), {}, {24, 80});
    EXPECT_TRUE(shows(lines, "alice"));
    EXPECT_TRUE(shows(lines, "training"));
    EXPECT_TRUE(shows(lines, "1h 30min"));
    EXPECT_TRUE(shows(lines, "outside genv"));
    EXPECT_TRUE(shows(lines, "3 free"));
    EXPECT_TRUE(shows(lines, "4 held"));
    EXPECT_TRUE(shows(lines, "driver 550.54.15"));
    EXPECT_TRUE(shows(lines, "isolation user"));
}

TEST(TopPageRows, WattsAndDegreesGoBeforeTheHistory) {
    const Frame frame = frameWith(8);
    const auto has = [&](std::size_t columns, std::string_view title) {
        return shows(screenPage(frame, {}, {24, columns}), title);
    };
    EXPECT_TRUE(has(200, "POWER"));
    bool wasThere = true;
    for (std::size_t columns = 200; columns >= 40; --columns) {
        EXPECT_LE(has(columns, "POWER"), has(columns, "TEMP")) << columns;
        EXPECT_LE(has(columns, "TEMP"), has(columns, "10 MINUTES")) << columns;
        EXPECT_LE(has(columns, "10 MINUTES"), has(columns, "LEASE")) << columns;
        EXPECT_TRUE(has(columns, "GPU") && has(columns, "USER") && has(columns, "MEMORY"))
            << columns;
        const bool isThere = has(columns, "10 MINUTES");
        EXPECT_TRUE(wasThere || !isThere) << columns; // a narrower page adds no columns
        wasThere = isThere;
    }
    EXPECT_FALSE(wasThere);
}

TEST(TopPageRows, AnOwnHoldComesFirstWhereAGpuIsShared) {
    Frame frame = frameWith(2);
    Holder bobs = frame.gpus[1].holders.front();
    frame.gpus[0].holders.insert(frame.gpus[0].holders.begin(), bobs);
    const auto lines = textOf(screenPage(frame, {}, {24, 80}));
    EXPECT_NE(lines.at(3).find("alice +1"), std::string::npos) << lines.at(3);
}

TEST(TopPageRows, AnUnwellGpuSaysSo) {
    Frame frame = frameWith(8);
    frame.gpus[3].health = "xid-79";
    const auto lines = screenPage(frame, {}, {24, 80});
    EXPECT_TRUE(shows(lines, "xid-79"));
    EXPECT_TRUE(shows(lines, "1 unwell"));
}

TEST(TopPageRows, HostileNamesStayInTheirCells) {
    Frame frame = frameWith(2);
    frame.gpus[0].holders[0].name = "\x1b]0;title\x07\xe2\x80\xae";
    frame.gpus[0].model = "\x1b[31m";
    frame.processes[0].program = "a\nb\tc";
    frame.processes[0].user = std::string(300, 'x');
    frame.trouble = "\x1b[2J";
    for (const Charset charset : {Charset::Ascii, Charset::Unicode}) {
        Choice choice;
        choice.charset = charset;
        for (const auto& lines :
             {screenPage(frame, choice, {24, 80}), wholePage(frame, choice, 120)}) {
            for (const PageLine& line : lines) {
                EXPECT_LE(cellsOf(line.spans, charset), lines.size() == 24 ? 80U : 120U);
                for (const Span& span : line.spans)
                    EXPECT_EQ(span.text, safe(span.text, charset));
            }
        }
    }
}

TEST(TopPageRows, ATroubleWithoutDataIsASentence) {
    Frame frame;
    frame.trouble = "genvd does not run on this machine; asking again every 2 s.";
    const auto lines = textOf(screenPage(frame, {}, {24, 40}));
    EXPECT_EQ(lines.at(0), "genvd does not run on this machine;");
    EXPECT_EQ(lines.at(1), "asking again every 2 s.");
}

TEST(TopPageRows, ATinyTerminalShowsASentence) {
    const auto lines = textOf(screenPage(frameWith(8), {}, {5, 20}));
    EXPECT_EQ(lines.at(0), "genv top needs 40");
}

TEST(TopPageRows, AMachineWithoutGpusSaysSo) {
    Frame frame;
    frame.isEmpty = false;
    EXPECT_TRUE(shows(screenPage(frame, {}, {24, 80}), "This machine has no GPUs"));
    EXPECT_TRUE(shows(screenPage(frame, {}, {24, 80}), "no driver"));
}

TEST(TopPageRows, EverythingIsPrintedOnce) {
    const auto lines = wholePage(frameWith(64), {}, 120);
    EXPECT_EQ(rowsOf(lines, Item::Kind::Gpu), 64);
    EXPECT_EQ(rowsOf(lines, Item::Kind::Process), 33);
    EXPECT_EQ(rowsOf(lines, Item::Kind::Waiter), 2);
    EXPECT_TRUE(std::ranges::none_of(lines, &PageLine::isSelected));
}

TEST(TopPageRows, AreChosenByUserTextAndIndex) {
    const Frame frame = frameWith(8);
    const auto gpus = [&](const Choice& choice) {
        return rowsOf(screenPage(frame, choice, {40, 100}), Item::Kind::Gpu);
    };
    Choice choice;
    choice.filter = "BOB";
    EXPECT_EQ(gpus(choice), 2);
    choice.filter = "dave";
    EXPECT_EQ(gpus(choice), 1);
    choice = {};
    choice.mineOnly = true;
    EXPECT_EQ(gpus(choice), 2);
    choice = {};
    choice.gpus = {1, 3};
    EXPECT_EQ(gpus(choice), 2);
    choice.filter = "nobody's";
    EXPECT_TRUE(shows(screenPage(frame, choice, {40, 100}), "No GPU matches"));
}

TEST(TopPageRows, LeaveOutColumnsWithoutReadings) {
    Frame frame = frameWith(4);
    frame.isCluster = true; // Slurm has none
    for (Gpu& gpu : frame.gpus) {
        gpu.totalMemoryBytes = gpu.usedMemoryBytes = {};
        gpu.utilizationPercent = {};
        gpu.powerMilliwatts = gpu.powerLimitMilliwatts = {};
    }
    for (const std::size_t columns : {80U, 200U}) {
        const auto lines = screenPage(frame, Choice{}, {24, columns});
        for (const char* shown : {"MODEL", "USER", "ENVIRONMENT", "training (7000)", "A100-SXM4"})
            EXPECT_TRUE(shows(lines, shown)) << shown;
        for (const char* missing : {"MEMORY", "UTIL", "10 MINUTES", "TEMP", "POWER"})
            EXPECT_FALSE(shows(lines, missing)) << missing;
    }
}

TEST(TopPage, SaysWhichMemoryNoProcessAccountsFor) {
    Frame frame = frameWith(4);
    frame.gpus[3].isFree = false;
    frame.gpus[3].unaccountedBytes = 37ULL << 30U;
    const auto lines = screenPage(frame, Choice{}, {24, 250});
    EXPECT_TRUE(shows(lines, "0 free")) << joined(lines);
    EXPECT_TRUE(shows(lines, "2 outside genv"));
    EXPECT_TRUE(shows(lines, "37 GiB in use by no process"));
    EXPECT_TRUE(shows(screenPage(frame, Choice{}, {24, 80}), "no process"));
}

TEST(TopPage, AddsUpOnlyKnownMemory) {
    Frame frame = frameWith(2);
    frame.gpus[1].usedMemoryBytes.reset();
    EXPECT_TRUE(shows(screenPage(frame, Choice{}, {24, 200}), "memory 20"));
    EXPECT_FALSE(shows(screenPage(frame, Choice{}, {24, 200}), "160"));
}

} // namespace
} // namespace genv::top::tests
