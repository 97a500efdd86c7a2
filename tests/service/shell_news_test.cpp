// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences at prompts about other events than devices that are attached and detached.
#include "core/sentences.hpp"
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
    ShellNews news{ledger, clock, scheduler, files};
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
