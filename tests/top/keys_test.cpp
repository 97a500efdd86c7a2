// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/keys.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

class TopKeys : public testing::Test {
  protected:
    Outcome key(Key::Kind kind) { return press(choice, frame, {kind, 0, {}}); }
    /// Types characters, and returns the outcome of the last one.
    Outcome type(std::string_view text) {
        Outcome outcome;
        for (const char c : text)
            outcome = press(choice, frame, {Key::Kind::Character, static_cast<char32_t>(c), {}});
        return outcome;
    }
    void select(Item::Kind kind, std::uint64_t key) { choice.selected = Item{kind, key}; }
    std::string footer() { return textOf(screenPage(frame, choice, {24, 100})).back(); }

    Frame frame = frameWith(8);
    Choice choice;
};

TEST_F(TopKeys, ArrowsGoThroughAllTablesAndStopAtTheirEnds) {
    key(Key::Kind::Up);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Gpu, 0}));
    key(Key::Kind::Down);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Gpu, 1}));
    key(Key::Kind::End);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Waiter, 12}));
    key(Key::Kind::Down);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Waiter, 12}));
    key(Key::Kind::Home);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Gpu, 0}));
}

TEST_F(TopKeys, ASelectedRowThatGoesIsNoLongerSelected) {
    select(Item::Kind::Process, 4000);
    frame.processes.clear();
    key(Key::Kind::Down);
    EXPECT_EQ(choice.selected, (Item{Item::Kind::Gpu, 1}));
}

TEST_F(TopKeys, QuitEndsButNotInAFilter) {
    EXPECT_TRUE(type("q").quits);
    EXPECT_FALSE(type("/q").quits);
    EXPECT_EQ(choice.filter, "q");
}

TEST_F(TopKeys, AFilterIsTypedKeptAndDropped) {
    type("/bo");
    press(choice, frame, {Key::Kind::Character, U'\u00fc', {}});
    EXPECT_EQ(choice.filter, "bo\u00fc");
    key(Key::Kind::Backspace);
    EXPECT_EQ(choice.filter, "bo");
    key(Key::Kind::Enter);
    EXPECT_FALSE(choice.isFiltering);
    EXPECT_EQ(choice.filter, "bo");
    key(Key::Kind::Escape);
    EXPECT_EQ(choice.filter, "");
}

TEST_F(TopKeys, JobsAreShownAndArrowsMoveInThem) {
    frame.jobs = jobsWith(30);
    type("J");
    EXPECT_EQ(choice.overlay, Overlay::Jobs);
    const auto before = choice.selected;
    key(Key::Kind::Up);
    EXPECT_EQ(choice.job, 0U);
    key(Key::Kind::Down);
    key(Key::Kind::PageDown);
    EXPECT_EQ(choice.job, 11U);
    key(Key::Kind::End);
    EXPECT_EQ(choice.job, 29U);
    key(Key::Kind::Down);
    EXPECT_EQ(choice.job, 29U);
    frame.jobs = jobsWith(10); // some have gone
    key(Key::Kind::Up);
    EXPECT_EQ(choice.job, 8U);
    EXPECT_EQ(choice.selected, before); // the tables stay where they are
    key(Key::Kind::Escape);
    EXPECT_EQ(choice.overlay, Overlay::None);
    type("J");
    EXPECT_EQ(choice.job, 0U);
    type("J");
    EXPECT_EQ(choice.overlay, Overlay::None);
}

TEST_F(TopKeys, LettersSort) {
    type("ot");
    EXPECT_EQ(choice.sort, Sort::Temperature);
    type("oz");
    EXPECT_EQ(choice.sort, Sort::Temperature);
    EXPECT_FALSE(choice.isSorting);
    type("ou");
    const auto lines = screenPage(frame, choice, {24, 100});
    EXPECT_EQ(lines.at(3).item, (Item{Item::Kind::Gpu, 0}));
    EXPECT_EQ(lines.at(4).item, (Item{Item::Kind::Gpu, 4}));
    EXPECT_EQ(lines.at(5).item, (Item{Item::Kind::Gpu, 1}));
}

TEST_F(TopKeys, AClickSelectsAndASecondOneShowsDetails) {
    const Item item{Item::Kind::Gpu, 3};
    press(choice, frame, {Key::Kind::Click, 0, item});
    EXPECT_EQ(choice.selected, item);
    EXPECT_EQ(choice.overlay, Overlay::None);
    press(choice, frame, {Key::Kind::Click, 0, item});
    EXPECT_EQ(choice.overlay, Overlay::Details);
    key(Key::Kind::Escape);
    EXPECT_EQ(choice.overlay, Overlay::None);
}

TEST_F(TopKeys, DetachAsksAndOnlyYesDoesIt) {
    select(Item::Kind::Gpu, 1);
    EXPECT_FALSE(type("d").request);
    EXPECT_EQ(footer(), "Detach GPU 1 from 7001 of bob? [y/N]");
    EXPECT_FALSE(key(Key::Kind::Enter).request);
    EXPECT_FALSE(choice.prompt);
    type("d");
    EXPECT_FALSE(type("n").request);
    type("d");
    EXPECT_EQ(type("y").request, Request(DetachRequest{"7001", 1}));
    EXPECT_FALSE(choice.prompt);
}

TEST_F(TopKeys, DetachOfASharedGpuAsksFromWhichEnvironment) {
    frame.gpus[0].holders.push_back(frame.gpus[1].holders.front());
    select(Item::Kind::Gpu, 0);
    type("d");
    EXPECT_EQ(choice.prompt->input, "7000");
    key(Key::Kind::ClearLine);
    type("7001");
    EXPECT_FALSE(key(Key::Kind::Enter).request);
    EXPECT_EQ(type("y").request, Request(DetachRequest{"7001", 0}));
}

TEST_F(TopKeys, WhatCannotBeIsSaid) {
    select(Item::Kind::Gpu, 3);
    type("d");
    EXPECT_EQ(footer(), "GPU 3 is attached to no environment");
    type("t");
    EXPECT_EQ(footer(), "Select a process first");
    select(Item::Kind::Gpu, 1);
    type("e");
    EXPECT_EQ(footer(), "GPU 1 has no lease to extend");
    type("a");
    EXPECT_EQ(footer(), "GPU 1 is held by bob: wait for a GPU with \"w\"");
    frame.own.clear();
    type("w");
    EXPECT_EQ(footer(), "You have no environment: start one with \"genv activate\"");
    key(Key::Kind::Down);
    EXPECT_TRUE(footer().find("quit") != std::string::npos);
}

TEST_F(TopKeys, TerminateAsks) {
    select(Item::Kind::Process, 4001);
    type("t");
    EXPECT_EQ(footer(), "Terminate process 4001 (python3) of bob? [y/N]");
    EXPECT_EQ(type("y").request, Request(TerminateRequest{4001}));
    choice.mayTerminate = false;
    EXPECT_FALSE(type("ty").request);
}

TEST_F(TopKeys, ExtendTakesATime) {
    select(Item::Kind::Gpu, 0);
    type("e");
    key(Key::Kind::ClearLine);
    type("2h 30min");
    EXPECT_EQ(key(Key::Kind::Enter).request,
              Request(ExtendRequest{"7000", std::chrono::minutes{150}}));
    type("e");
    type("x");
    EXPECT_FALSE(key(Key::Kind::Enter).request);
    EXPECT_TRUE(choice.isBadNews);
}

TEST_F(TopKeys, AttachAndWaitAreForOnesOwnEnvironment) {
    select(Item::Kind::Gpu, 3);
    EXPECT_EQ(type("ay").request, Request(AttachGpuRequest{"7000", 3}));
    type("w");
    key(Key::Kind::Backspace);
    type("2");
    EXPECT_EQ(key(Key::Kind::Enter).request, Request(WaitRequest{"7000", 2}));
    frame.own.push_back({"7100", {}, false});
    type("w");
    EXPECT_FALSE(key(Key::Kind::Enter).request);
    EXPECT_EQ(choice.prompt->input, "7000");
    EXPECT_EQ(key(Key::Kind::Enter).request, Request(WaitRequest{"7000", 1}));
    type("w");
    key(Key::Kind::Backspace);
    type("0");
    EXPECT_FALSE(key(Key::Kind::Enter).request);
    EXPECT_EQ(footer(), "Invalid number \"0\": expected 1 or more");
}

TEST_F(TopKeys, TheOwnWaitIsCancelledWhereverOneIs) {
    EXPECT_EQ(type("cy").request, Request(LeaveRequest{12, "7000"}));
    select(Item::Kind::Waiter, 11);
    EXPECT_EQ(type("cy").request, Request(LeaveRequest{11, "8001"}));
}

TEST_F(TopKeys, ParkAsksAndOnlyYesDoesIt) {
    select(Item::Kind::Gpu, 0);
    EXPECT_FALSE(type("p").request);
    EXPECT_EQ(footer(), "Park 7000 of alice, so that its programs stand still and its GPUs are "
                        "free? [y/N]");
    EXPECT_FALSE(type("n").request);
    EXPECT_EQ(type("py").request, Request(ParkRequest{"7000"}));
    select(Item::Kind::Gpu, 3);
    EXPECT_FALSE(type("py").request);
}

TEST_F(TopKeys, ResumeIsForTheSelectedOrTheOnlyOwnParkedEnvironment) {
    type("r");
    EXPECT_EQ(footer(), "Select a parked environment first");
    frame.parked = {parkedOf(1, bobUid), parkedOf(2, aliceUid)};
    type("r");
    EXPECT_EQ(footer(), "Resume 9002 of alice on GPU 2,3? [y/N]");
    EXPECT_EQ(type("y").request, Request(ResumeRequest{"9002"}));
    select(Item::Kind::Parked, 1);
    EXPECT_EQ(type("ry").request, Request(ResumeRequest{"9001"}));
}

TEST_F(TopKeys, ReadOnlyChangesNothing) {
    choice.isReadOnly = true;
    for (const char* keys : {"dy", "ay", "w", "cy", "e", "py", "ry"}) {
        EXPECT_FALSE(type(keys).request) << keys;
        EXPECT_FALSE(choice.prompt) << keys;
    }
    EXPECT_EQ(footer().find("detach"), std::string::npos);
}

TEST_F(TopKeys, HelpTellsOfEveryKey) {
    type("h");
    const std::string help = joined(screenPage(frame, choice, {24, 100}));
    for (const char* words : {"filter", "sort", "jobs", "detach", "terminate", "attach", "wait",
                              "cancel", "extend", "park", "resume", "quit"})
        EXPECT_NE(help.find(words), std::string::npos) << words;
    type("h");
    EXPECT_EQ(choice.overlay, Overlay::None);
}

} // namespace
} // namespace genv::top::tests
