// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/cell_text.hpp"
#include "client/top/page.hpp"
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
    Frame frame = frameWith(GetParam().gpus);
    frame.jobs = jobsWith(40);
    for (std::uint32_t number = 0; number < 5; ++number)
        frame.parked.push_back(parkedOf(number, aliceUid));
    for (const Charset charset : {Charset::Ascii, Charset::Unicode}) {
        for (const Overlay overlay :
             {Overlay::None, Overlay::Help, Overlay::Details, Overlay::Jobs}) {
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
    GpuHolder bobs = frame.gpus[1].holders.front();
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
    std::vector<jobs::JobRow> rows = *jobsWith(2);
    rows[0].name = "\x1b]0;title\x07";
    rows[0].reason = std::string(300, 'y') + "\n";
    frame.jobs = std::make_shared<std::vector<jobs::JobRow>>(std::move(rows));
    Choice ofJobs;
    ofJobs.overlay = Overlay::Jobs;
    for (const Charset charset : {Charset::Ascii, Charset::Unicode}) {
        Choice choice;
        choice.charset = charset;
        ofJobs.charset = charset;
        for (const auto& lines :
             {screenPage(frame, choice, {24, 80}), screenPage(frame, ofJobs, {24, 80}),
              wholePage(frame, choice, 120)}) {
            for (const PageLine& line : lines) {
                EXPECT_LE(cellsOf(line.spans, charset), lines.size() == 24 ? 80U : 120U);
                for (const Span& span : line.spans)
                    EXPECT_EQ(span.text, safe(span.text, charset));
            }
        }
    }
}

TEST(TopPageRows, CountTheTasksOfOnesJobsWhereThereAreSome) {
    Frame frame = frameWith(2);
    EXPECT_FALSE(shows(screenPage(frame, {}, {24, 100}), "my jobs"));
    frame.jobs = jobsWith(0);
    EXPECT_FALSE(shows(screenPage(frame, {}, {24, 100}), "my jobs"));
    frame.jobs = jobsWith(6);
    const auto lines = screenPage(frame, {}, {24, 100});
    EXPECT_TRUE(shows(lines, "my jobs  6 running  58 waiting  2 failed  139 done  J list"));
    EXPECT_TRUE(shows(lines, "training")); // the tables follow
}

TEST(TopPageRows, ListOnesJobsUnfinishedOnesFirst) {
    Frame frame = frameWith(2);
    frame.jobs = jobsWith(6);
    Choice choice;
    choice.overlay = Overlay::Jobs;
    const std::string text = joined(screenPage(frame, choice, {24, 100}));
    EXPECT_NE(text.find("JOB NAME"), std::string::npos);
    const auto place = [&](const char* words) { return text.find(words); };
    EXPECT_LT(place("     5 python train.py"), place("     4 python train.py"));
    EXPECT_LT(place("     4 python train.py"), place("     2 sweep"));
    EXPECT_LT(place("     1 python train.py"), place("     6 python train.py"));
    EXPECT_NE(place("     6 python train.py"), std::string::npos);
    EXPECT_NE(place("waiting for free GPUs"), std::string::npos);
    EXPECT_NE(place("137/200 done, 4 running, 2 failed"), std::string::npos);
    EXPECT_EQ(place("4 free"), std::string::npos);
}

TEST(TopPageRows, ShowThePartOfALongListThatHasTheSelectedJob) {
    Frame frame = frameWith(2);
    frame.jobs = jobsWith(300);
    Choice choice;
    choice.overlay = Overlay::Jobs;
    for (std::size_t row = 0; row < 300; ++row) {
        choice.job = row;
        const auto lines = screenPage(frame, choice, {24, 100});
        const auto selected = std::ranges::count_if(lines, &PageLine::isSelected);
        EXPECT_EQ(selected, 1) << row;
        EXPECT_EQ(lines.size(), 24U);
    }
    EXPECT_TRUE(shows(screenPage(frame, choice, {24, 100}), "282-300/300"));
    frame.jobs = jobsWith(3); // the selected row has gone
    EXPECT_TRUE(screenPage(frame, choice, {24, 100}).at(6).isSelected);
    frame.jobs.reset();
    EXPECT_TRUE(shows(screenPage(frame, choice, {24, 100}), "genvctl submit -- COMMAND"));
}

TEST(TopPageRows, TellWhatIsParkedAndWhatMoves) {
    Frame frame = frameWith(4);
    EXPECT_FALSE(shows(screenPage(frame, {}, {24, 100}), "STATE"));
    frame.parked = {parkedOf(1, aliceUid), parkedOf(2, bobUid), parkedOf(3, bobUid)};
    frame.parked[1].state = "parking";
    frame.parked[1].movedBytes = 3ULL << 30U;
    frame.parked[1].bytesToMove = 12ULL << 30U;
    frame.parked[2].problem = "GPU 3 has too little free memory\x1b";
    frame.gpus[0].holders[0].parking = "resuming";
    const auto lines = screenPage(frame, {}, {24, 100});
    EXPECT_EQ(rowsOf(lines, Item::Kind::Parked), 3);
    EXPECT_TRUE(shows(lines, "2 parked"));
    EXPECT_TRUE(shows(lines, "2,3      5min alice      12G training (9001) parked"))
        << joined(lines);
    EXPECT_TRUE(shows(lines, "3.0/12G training (9002) parking"));
    EXPECT_TRUE(shows(lines, "parked: GPU 3 has too little free memory\\x1b"));
    EXPECT_TRUE(shows(lines, "resuming"));
    Choice choice;
    choice.selected = Item{Item::Kind::Parked, 3};
    choice.overlay = Overlay::Details;
    const auto details = screenPage(frame, choice, {24, 100});
    EXPECT_TRUE(shows(details, "Problem"));
    EXPECT_TRUE(shows(details, "5min ago"));
}

TEST(TopPageRows, TellWhatIsOnLoanAndForWhomItIsParked) {
    Frame frame = frameWith(4);
    frame.gpus[0].holders[0].isOnLoan = true;
    frame.gpus[0].holders[0].expires.reset();
    frame.parked = {parkedOf(1, aliceUid)};
    frame.parked[0].reason = "taken";
    frame.parked[0].takenBy = "bob\x1b";
    frame.parked[0].expected = frame.when + std::chrono::minutes{10};
    const auto lines = screenPage(frame, {}, {24, 140});
    EXPECT_TRUE(shows(lines, "on loan")) << joined(lines);
    EXPECT_TRUE(shows(lines, "parked for bob\\x1b, back about ")) << joined(lines);
    Choice choice;
    choice.selected = Item{Item::Kind::Parked, 1};
    choice.overlay = Overlay::Details;
    const auto details = screenPage(frame, choice, {24, 100});
    EXPECT_TRUE(shows(details, "for a request of bob\\x1b")) << joined(details);
    EXPECT_TRUE(shows(details, "by itself, about ")) << joined(details);
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
        gpu.sensors.utilizationPercent = {};
        gpu.sensors.powerMilliwatts = gpu.sensors.powerLimitMilliwatts = {};
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
