// SPDX-License-Identifier: LGPL-2.1-or-later
// The users that the sections of genvd.conf name, while the user database answers, hangs or fails.
#include "core/base/user_database.hpp"
#include "service/configured_names.hpp"
#include "service/user_directory.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/mailbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::ResolvedNames;

struct RememberingLog : core::Log {
    std::vector<std::string> lines;
    void write(core::Severity /*severity*/, const std::string& line) override {
        lines.push_back(line);
    }
    [[nodiscard]] std::size_t count(const std::string& part) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            lines, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
    }
};

class ConfiguredNames : public testing::Test {
  protected:
    ConfiguredNames() {
        limits.users["jdoe"].maxDevices = 1;
        limits.users["CORP\\jdoe"].maxDevices = 2;
        limits.groups["students"].maxDevices = 3;
    }

    // Runs the look-ups of all names.
    void answer() {
        for (int n = 0; n < 3; ++n)
            mailbox.take();
    }
    void resolve() {
        names.resolve(limits, [this](const ResolvedNames& found) { last = found; });
    }
    void check() {
        names.check(limits, [this](const ResolvedNames& found) { last = found; });
    }
    std::optional<std::uint32_t> find(const service::DirectoryName& name) {
        const std::lock_guard lock(mutex);
        ++lookups;
        if (isDown)
            throw core::UserDatabaseError("down");
        const auto found = known.find(name);
        return found != known.end() ? std::optional(found->second) : std::nullopt;
    }

    std::mutex mutex;
    std::map<service::DirectoryName, std::uint32_t> known{
        {{false, "jdoe"}, 1004}, {{false, "CORP\\jdoe"}, 1004}, {{true, "students"}, 1101}};
    bool isDown = false;
    std::atomic<int> lookups{0};

    core::LimitTable limits;
    std::optional<ResolvedNames> last;
    FakeClock clock;
    FakeScheduler scheduler;
    RememberingLog log;
    Mailbox mailbox;
    service::UserDirectory users{
        clock,
        scheduler,
        log,
        mailbox.post(),
        [](core::Uid) { return core::UserInfo{}; },
        [this](const auto& name, const auto& /*before*/) { return find(name); }};
    service::ConfiguredNames names{users, clock, log};
};

TEST_F(ConfiguredNames, AreResolvedOffTheLoopAndSectionsOfOneUserAreReportedOnce) {
    resolve();
    EXPECT_FALSE(last) << "nothing blocks";
    answer();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->users.names.at(1004), (std::set<std::string>{"CORP\\jdoe", "jdoe"}));
    EXPECT_EQ(last->groups.names.at(1101), std::set<std::string>{"students"});
    resolve();
    answer();
    EXPECT_EQ(log.count("name one user (1004)"), 1U);
    EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(ConfiguredNames, WithoutAnAnswerAreRetriedAndTheLogSaysWhatHolds) {
    isDown = true;
    resolve();
    answer();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->users.unanswered, (std::set<std::string>{"CORP\\jdoe", "jdoe"}));
    EXPECT_EQ(last->groups.unanswered, std::set<std::string>{"students"});
    EXPECT_EQ(log.count("the user database does not answer about the user \"jdoe\""), 1U);
    isDown = false;
    check();
    answer();
    EXPECT_TRUE(last->users.unanswered.empty() && last->groups.unanswered.empty());
    isDown = true;
    clock.pass(service::ConfiguredNames::keptFor);
    check();
    answer();
    EXPECT_EQ(last->users.names.count(1004), 1U) << "the last answer holds";
}

TEST_F(ConfiguredNames, OfADatabaseThatHangsAreUnansweredAfterItsTime) {
    const std::unique_lock lock(mutex); // the worker waits for it
    resolve();
    scheduler.pass(service::UserDirectory::timeout);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->users.unanswered.size(), 2U);
}

TEST_F(ConfiguredNames, ThatNobodyHasAreLookedUpAgainSoonerThanOthers) {
    known.erase({true, "students"});
    resolve();
    answer();
    EXPECT_EQ(last->groups.nobody, std::set<std::string>{"students"});
    EXPECT_EQ(log.count("unknown group \"students\": the section applies to nobody"), 1U);
    check();
    EXPECT_EQ(lookups, 3) << "it is not due yet";
    known[{true, "students"}] = 1101;
    clock.pass(service::ConfiguredNames::nobodyKeptFor);
    check();
    answer();
    EXPECT_TRUE(last->groups.nobody.empty());
    clock.pass(service::ConfiguredNames::nobodyKeptFor);
    check();
    EXPECT_EQ(lookups, 6) << "all names have their users now";
}

} // namespace
} // namespace genv::tests
