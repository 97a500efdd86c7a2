// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences at prompts about other events than devices that are attached and detached.
#include "core/sentences/sentences.hpp"
#include "service/shell/shell_news.hpp"
#include "tests/core/ledger_fixture.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace genv::service {
namespace {

using tests::alice;
using tests::bob;
using Texts = std::vector<std::string>;

class ShellNewsTest : public tests::LedgerTest {
  protected:
    ShellNewsTest() {
        haveGpus(4);
        files.start();
        events.subscribe([this](const core::Event& event) { files.onEvent(event); });
        events.subscribe([this](const core::Event& event) { news.onEvent(event); });
        activate("7", alice);
    }
    /// Returns the sentences in the file of an environment whose id is a digit.
    [[nodiscard]] Texts sentencesOf(const std::string& id = "7") const {
        Texts sentences;
        std::ifstream file(folder.path() / "shell" / ("_3" + id));
        std::string line;
        std::getline(file, line);
        std::getline(file, line);
        while (std::getline(file, line))
            sentences.push_back(line.substr(line.find(' ') + 1));
        return sentences;
    }
    void terminate(core::Pid pid, const core::Cause& cause,
                   const std::optional<core::EnvironmentId>& environment = "7") {
        events.emit(core::ProcessTerminated{pid, "python3", alice, environment, {1}, cause});
    }

    tests::TemporaryFolder folder;
    tests::FakeUsers users;
    tests::SilentLog log;
    tests::FakeScheduler scheduler;
    ShellFiles files{folder.path(), ledger, clock, users, log};
    std::optional<core::WallTime> expected; ///< when any environment goes on
    ShellNews news{ledger, clock, scheduler, files,
                   [this](const core::EnvironmentId&) { return expected; }};
};

TEST_F(ShellNewsTest, NameTheProcessesOfOneTurnAtOnce) {
    users.add(bob, "bob");
    for (const core::Pid pid : {12U, 11U, 13U})
        terminate(pid, core::Cause::fact(core::Reason::rule("env-memory")));
    terminate(14, {core::Reason::admin(), bob, true});
    terminate(15, {core::Reason::user(), alice, false});
    EXPECT_TRUE(sentencesOf().empty()) << "the turn is not over";
    scheduler.turn();
    EXPECT_EQ(sentencesOf(),
              (Texts{"processes 11 (python3), 12 (python3), 13 (python3) on GPU 1 were "
                     "ended by the rule env-memory",
                     "process 14 (python3) on GPU 1 was ended by an administrator (bob)"}));
    terminate(16, core::Cause::fact(core::Reason::expired()));
    scheduler.turn();
    EXPECT_EQ(sentencesOf().back(),
              "process 16 (python3) on GPU 1 was ended because the lease ended");
}

TEST_F(ShellNewsTest, TellEachEnvironmentOfAUserWhatIsAboutNoneOfThem) {
    activate("8", alice);
    activate("9", bob);
    terminate(12, core::Cause::fact(core::Reason::rule("non-env-processes")), std::nullopt);
    scheduler.turn();
    EXPECT_EQ(sentencesOf("7"),
              Texts{"process 12 (python3) on GPU 1 was ended by the rule non-env-processes"});
    EXPECT_EQ(sentencesOf("8"), sentencesOf("7"));
    EXPECT_EQ(sentencesOf("9"), Texts{});
}

TEST_F(ShellNewsTest, WarnBeforeARuleActsAndSayWhen) {
    events.emit(core::RuleWarning{alice, "7", "env-memory", "It is \x1b too much",
                                  std::chrono::seconds{30}});
    EXPECT_EQ(sentencesOf(), Texts{"It is \\x1b too much; the rule env-memory acts at " +
                                   core::nameTime(clock.wallNow() + std::chrono::seconds{30})});
}

TEST_F(ShellNewsTest, SayThatADeviceIsNotWellToThoseWhoHoldIt) {
    activate("8", alice);
    attachIndices("7", {1});
    attachIndices("8", {2});
    core::Observation seen = tests::gpus(4);
    seen.devices[1].health = {core::Health::State::Xid, 79};
    ledger.observed(seen);
    EXPECT_EQ(sentencesOf("7"), Texts{"GPU 1 is unhealthy: the driver reported XID 79"});
    EXPECT_EQ(sentencesOf("8"), Texts{});
    ledger.observed(tests::gpus(4));
    EXPECT_EQ(sentencesOf("7").back(), "GPU 1 is healthy again");
    events.emit(core::DeviceChanged{2, core::DeviceField::Health});
    EXPECT_EQ(sentencesOf("8"), Texts{}) << "nobody knew of anything else";
}

TEST_F(ShellNewsTest, SayThatMemoryRunsOut) {
    attachIndices("7", {1});
    events.emit(core::MemoryFilling{
        "7", alice, ledger.device(1).facts, {std::uint64_t{3} << 30}, {std::uint64_t{2} << 30}});
    EXPECT_EQ(sentencesOf(),
              Texts{"3 GiB of GPU 1's memory is used, 1 GiB over the share of 2 GiB"});
}

TEST_F(ShellNewsTest, SayWhatTheKernelRefusedToEachEnvironmentOfTheUser) {
    activate("8", alice);
    activate("9", bob);
    core::AccessRefused refused{alice, ledger.device(1).facts, 3, 12, "python3\x1b", true};
    events.emit(refused);
    EXPECT_EQ(sentencesOf("7"),
              Texts{"process 12 (python3\\x1b) was refused GPU 1, which you do not hold; "
                    "\"genv attach --index 1\" attaches it"});
    EXPECT_EQ(sentencesOf("8"), sentencesOf("7"));
    EXPECT_EQ(sentencesOf("9"), Texts{});

    attachIndices("9", {1});
    events.emit(refused);
    EXPECT_EQ(sentencesOf("7").back(),
              "process 12 (python3\\x1b) was refused GPU 1, which you do not hold; others hold it: "
              "\"genv attach --index 1 --wait\" waits for it");
    const std::size_t before = sentencesOf("7").size();
    refused.isRefused = false;
    events.emit(refused);
    EXPECT_EQ(sentencesOf("7").size(), before) << "isolation only watches";
}

TEST_F(ShellNewsTest, SayThatTheEnvironmentWasParkedAndGoesOn) {
    users.add(bob, "bob");
    attachIndices("7", {1});
    const std::vector<core::DeviceFacts> devices{ledger.device(1).facts};
    const core::Bytes memory{std::uint64_t{12} << 30};
    const std::string moved = "12 GiB moved to host memory, and GPU 1 is free; \"genv resume\" "
                              "lets its programs go on";
    events.emit(core::EnvironmentParked{"7", alice, alice, "user", devices, memory, {}});
    EXPECT_EQ(sentencesOf(), Texts{"it was parked: " + moved});
    events.emit(core::EnvironmentResumed{"7", alice, devices, {}});
    EXPECT_EQ(sentencesOf().back(), "its programs go on on GPU 1");
    events.emit(core::EnvironmentParked{"7", alice, bob, "admin", devices, memory, {}});
    EXPECT_EQ(sentencesOf().back(), "it was parked by an administrator (bob): " + moved);
}

TEST_F(ShellNewsTest, SayForWhomTheEnvironmentWasParkedAndWhenItGoesOn) {
    const std::vector<core::DeviceFacts> devices{ledger.device(1).facts, ledger.device(0).facts};
    core::EnvironmentParked event{"7", alice, alice, "taken", devices, {std::uint64_t{12} << 30},
                                  {}};
    event.taker = core::Taker{3, "8", bob, "bob\x1b"};
    const std::string told = "it was parked for a request of bob\\x1b: 12 GiB moved from GPUs 0,1 "
                             "to host memory; its programs go on by themselves when those GPUs are "
                             "free again";
    events.emit(event);
    EXPECT_EQ(sentencesOf(), Texts{}) << "the request has no devices yet";
    scheduler.turn();
    EXPECT_EQ(sentencesOf(), Texts{told});
    expected = clock.wallNow() + std::chrono::hours{1};
    events.emit(event);
    scheduler.turn();
    EXPECT_EQ(sentencesOf().back(), told + ", expected about " + core::nameTime(*expected));
}

TEST_F(ShellNewsTest, WarnBeforeALoanEnds) {
    events.emit(core::LoanEnding{"7", alice, {3, "8", bob, "bob"}, std::chrono::minutes{1}});
    EXPECT_EQ(sentencesOf(), Texts{"it cannot be parked for a request of bob, and ends at " +
                                   core::nameTime(clock.wallNow() + std::chrono::minutes{1}) +
                                   "; save your work"});
}

TEST_F(ShellNewsTest, SayWhyParkingOrAResumeFails) {
    events.emit(core::ParkingFailed{"7", alice, alice, "process 12 uses \"MPS\"; end it\x1b"});
    EXPECT_EQ(sentencesOf().back(), "it was not parked: process 12 uses \"MPS\"; end it\\x1b");
    events.emit(core::ResumeDelayed{"7", alice, "GPU 1 is full"});
    EXPECT_EQ(sentencesOf().back(), "its programs cannot go on yet: GPU 1 is full");
    events.emit(core::ProcessLost{"7", alice, 12, "python3\x1b", "the driver lost it"});
    EXPECT_EQ(sentencesOf().back(),
              "process 12 (python3\\x1b) is lost and cannot go on: the driver lost it");
    events.emit(core::ParkedTooLong{"7", alice, std::chrono::minutes{1}});
    EXPECT_EQ(sentencesOf().back(),
              "it was parked for the longest time that is allowed, and ends at " +
                  core::nameTime(clock.wallNow() + std::chrono::minutes{1}) +
                  "; \"genvctl resume --id 7\" lets its programs go on");
}

TEST_F(ShellNewsTest, SayThatParkedProcessesStayWithoutAShell) {
    attachIndices("7", {1});
    const core::ProcessIdentity process{12, 1200};
    ledger.beginParking(
        "7", {{process, "python3", {}, {{ledger.device(1).facts.uuid, {std::uint64_t{12} << 30}}}}},
        alice);
    ledger.concludeParking("7");
    std::ifstream file(folder.path() / "shell" / "_37");
    std::string devices;
    std::getline(std::getline(file, devices), devices);
    EXPECT_EQ(devices, "-1");
    EXPECT_EQ(sentencesOf(), Texts{}) << "EnvironmentParked says it";
    ledger.processExited(ledger.get("7").processes.at(0).identity);
    EXPECT_EQ(sentencesOf(),
              Texts{"it keeps 12 GiB of host memory for process 12 (python3), which is parked; "
                    "\"genvctl resume --id 7\" lets it go on"});
}

TEST_F(ShellNewsTest, SayWhoSharesADeviceToThoseWhoHeldItAndAreSomebodyElse) {
    activate("8", alice);
    activate("9", bob);
    attachIndices("7", {1});
    attachIndices("8", {1}, true);
    EXPECT_EQ(sentencesOf("7"), Texts{}) << "one's own other environment is no news";
    attachIndices("9", {1}, true);
    EXPECT_EQ(sentencesOf("7"), Texts{"GPU 1 is now shared with user1002 (environment 9)"});
    EXPECT_EQ(sentencesOf("8"), sentencesOf("7"));
    EXPECT_EQ(sentencesOf("9"), Texts{});
}

} // namespace
} // namespace genv::service
