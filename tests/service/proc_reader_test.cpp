// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes that block their readers: everything else is read, in bounded time.
#include "service/processes/proc_reader.hpp"
#include "tests/service/child.hpp"
#include "tests/service/hung_entry.hpp"
#include "tests/service/proc_access.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>

namespace genv::tests {
namespace {

using service::ProcBudget;
using service::ProcHung;
using service::ProcPart;
using service::ProcPostponed;
using service::ProcReading;
using service::ProcRequest;

bool isFactsOf(const ProcReading& reading, core::Pid pid) {
    const auto* facts = std::get_if<core::ProcessFacts>(&reading);
    return facts != nullptr && facts->identity.pid == pid;
}

template <typename Kind>
std::size_t count(const std::vector<ProcReading>& readings) {
    return static_cast<std::size_t>(
        std::count_if(readings.begin(), readings.end(), [](const ProcReading& reading) {
            return std::holds_alternative<Kind>(reading);
        }));
}

TEST(ProcReader, ReadsAllPartsOfAProcess) {
    service::ProcReader reader(procAccess());
    const Child child({.environment = {"GENV_ENVIRONMENT_ID=10", "GENV_ENVIRONMENT_CREATED=17"}});
    ProcBudget budget;
    const auto readings = reader.read({{child.pid(), ProcPart::Facts},
                                       {child.pid(), ProcPart::Lineage},
                                       {child.pid(), ProcPart::Claims},
                                       {child.pid(), ProcPart::Arguments},
                                       {4194305, ProcPart::Facts},
                                       {child.pid(), ProcPart::Login},
                                       {child.pid(), ProcPart::Identity}},
                                      budget);
    ASSERT_EQ(readings.size(), 7U);
    EXPECT_TRUE(std::holds_alternative<service::ProcLogin>(readings[5]));
    ASSERT_TRUE(isFactsOf(readings[0], child.pid()));
    const auto& facts = std::get<core::ProcessFacts>(readings[0]);
    EXPECT_EQ(std::get<core::ProcessIdentity>(readings[6]), facts.identity);
    EXPECT_TRUE(facts.uids.areAll(::getuid()));
    EXPECT_EQ(facts.parent, static_cast<core::Pid>(::getpid()));
    const auto& lineage = std::get<core::Lineage>(readings[1]);
    EXPECT_EQ(lineage.facts.identity, facts.identity);
    ASSERT_FALSE(lineage.ancestors.empty());
    EXPECT_EQ(lineage.ancestors[0].pid, facts.parent);
    const auto& claims = std::get<service::ProcClaims>(readings[2]);
    EXPECT_EQ(claims.identity, facts.identity);
    EXPECT_EQ(claims.environmentHint, (core::EnvironmentHint{"10", core::fromMicroseconds(17)}));
    EXPECT_FALSE(claims.userNamespaceOwner);
    EXPECT_FALSE(claims.isMpsServer);
    EXPECT_EQ(std::get<service::ProcArguments>(readings[3]).text,
              std::string("/usr/bin/tail\0-f\0/dev/null\0", 27));
    EXPECT_TRUE(std::holds_alternative<service::ProcGone>(readings[4]));
}

TEST(ProcReader, ReadsMoreThanOnePacketTakes) {
    service::ProcReader reader(procAccess());
    const auto self = static_cast<core::Pid>(::getpid());
    const std::vector<ProcRequest> requests(3 * service::maxProcRequests + 1,
                                            {self, ProcPart::Facts});
    ProcBudget budget;
    const auto readings = reader.read(requests, budget);
    EXPECT_EQ(count<core::ProcessFacts>(readings), requests.size());
    EXPECT_TRUE(reader.read(std::vector<ProcRequest>{}, budget).empty());
}

TEST(ProcReader, StartsNoHelperWithoutTimeLeft) {
    std::vector<std::string> logged;
    service::ProcAccess access = procAccess(&logged);
    access.program.path = "/nonexistent";
    service::ProcReader reader(access);
    ProcBudget budget;
    budget.remaining = std::chrono::milliseconds{0};
    const auto self = static_cast<core::Pid>(::getpid());
    EXPECT_TRUE(
        std::holds_alternative<ProcPostponed>(reader.read({self, ProcPart::Facts}, budget)));
    EXPECT_TRUE(logged.empty());
}

TEST(ProcReader, SaysThatNothingIsKnownWhereNoHelperCanBeStarted) {
    std::vector<std::string> logged;
    service::ProcAccess access = procAccess(&logged);
    access.program.path = "/nonexistent";
    service::ProcReader reader(access);
    ProcBudget budget;
    const auto self = static_cast<core::Pid>(::getpid());
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(std::holds_alternative<service::ProcShortage>(
            reader.read({self, ProcPart::Facts}, budget)));
    EXPECT_EQ(logged.size(), 1U) << "once";
}

class HungReads : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, for a mount namespace";
        ASSERT_TRUE(HungEntry::isolate());
    }
    // Adds a process of a user that never answers.
    const Child& addHung(core::Uid uid, const std::string& file = "stat") {
        children.emplace_back(Child::Options{.uid = uid});
        hung.emplace_back(children.back().pid(), file);
        return children.back();
    }

    std::vector<std::string> logged;
    std::deque<Child> children;
    std::deque<HungEntry> hung;
};

TEST_F(HungReads, LeaveTheOthersToBeRead) {
    service::ProcReader reader(procAccess(&logged));
    const Child first;
    const Child last;
    const Child& between = addHung(65534);
    ProcBudget budget;
    const auto readings = reader.read({{first.pid(), ProcPart::Facts},
                                       {between.pid(), ProcPart::Facts},
                                       {between.pid(), ProcPart::Claims},
                                       {last.pid(), ProcPart::Facts}},
                                      budget);
    EXPECT_TRUE(isFactsOf(readings[0], first.pid()));
    EXPECT_TRUE(std::holds_alternative<ProcHung>(readings[1]));
    EXPECT_TRUE(std::holds_alternative<ProcHung>(readings[2])) << "what needs the same";
    EXPECT_TRUE(isFactsOf(readings[3], last.pid()));
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_EQ(logged[0],
              "process " + std::to_string(between.pid()) +
                  " of uid 65534 cannot be read, since its entry in /proc does not answer; "
                  "it counts as outside every environment");
}

TEST_F(HungReads, AreNotTriedAgainForAWhile) {
    service::ProcReader reader(procAccess(&logged));
    const Child& one = addHung(65534, "environ");
    ProcBudget budget;
    EXPECT_TRUE(
        std::holds_alternative<ProcHung>(reader.read({one.pid(), ProcPart::Claims}, budget)));
    const auto remaining = budget.remaining;
    EXPECT_LT(remaining, ProcBudget{}.remaining);
    const auto again =
        reader.read({{one.pid(), ProcPart::Claims}, {one.pid(), ProcPart::Facts}}, budget);
    EXPECT_TRUE(std::holds_alternative<ProcHung>(again[0]));
    EXPECT_TRUE(isFactsOf(again[1], one.pid())) << "which can be read";
    EXPECT_EQ(budget.remaining, remaining) << "nobody waited";
}

TEST_F(HungReads, AreTriedAgainLaterAndToldOnce) {
    service::ProcReader reader(procAccess(&logged, std::chrono::milliseconds{0}));
    const Child& one = addHung(65534);
    ProcBudget budget;
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(
            std::holds_alternative<ProcHung>(reader.read({one.pid(), ProcPart::Facts}, budget)));
    hung.clear();
    EXPECT_TRUE(isFactsOf(reader.read({one.pid(), ProcPart::Facts}, budget), one.pid()));
    EXPECT_EQ(logged.size(), 1U);
}

TEST_F(HungReads, AreNoneOfAnotherProcessWithThePid) {
    std::vector<std::string> lines;
    const auto access = procAccess(&lines);
    auto child = std::make_unique<Child>();
    access.hung->add(child->pid(), 0, ProcPart::Facts);
    EXPECT_TRUE(access.hung->isHung(child->pid(), ProcPart::Facts));
    EXPECT_EQ(access.hung->hangsOf(0, ProcPart::Facts), 1U);
    child->end();
    EXPECT_FALSE(access.hung->isHung(child->pid(), ProcPart::Facts));
    EXPECT_EQ(access.hung->hangsOf(0, ProcPart::Facts), 0U);
}

TEST_F(HungReads, OfAUserAreWaitedForFourTimes) {
    service::ProcReader reader(procAccess(&logged));
    std::vector<ProcRequest> requests;
    for (int i = 0; i < 7; ++i)
        requests.push_back({addHung(65534).pid(), ProcPart::Facts});
    const Child other;
    requests.push_back({other.pid(), ProcPart::Facts});
    ProcBudget budget{.remaining = std::chrono::minutes{1}};
    const auto readings = reader.read(requests, budget);
    EXPECT_EQ(count<ProcHung>(readings), 4U);
    EXPECT_EQ(count<ProcPostponed>(readings), 3U);
    EXPECT_TRUE(isFactsOf(readings.back(), other.pid()));
    EXPECT_EQ(logged.size(), 4U);
    EXPECT_EQ(count<ProcPostponed>(reader.read(requests, budget)), 3U) << "the same look goes on";
    ProcBudget next{.remaining = std::chrono::minutes{1}};
    EXPECT_EQ(count<ProcHung>(reader.read(requests, next)), 7U) << "the next one comes further";
}

TEST_F(HungReads, OfAllUsersAreWaitedForOnlySoLong) {
    service::ProcReader reader(procAccess(&logged));
    std::vector<ProcRequest> requests;
    for (core::Uid uid = 60000; uid < 60008; ++uid)
        requests.push_back({addHung(uid).pid(), ProcPart::Facts});
    ProcBudget budget;
    const auto readings = reader.read(requests, budget);
    EXPECT_LE(budget.remaining, std::chrono::milliseconds{0});
    EXPECT_GE(count<ProcHung>(readings), 1U);
    EXPECT_LE(count<ProcHung>(readings), 5U)
        << "a fifth of a second each, and more where the processor is busy";
    EXPECT_EQ(count<ProcHung>(readings) + count<ProcPostponed>(readings), requests.size());
}

TEST_F(HungReads, HoldUpTheirUserLongerThanOthers) {
    service::ProcReader reader(procAccess(&logged));
    std::vector<ProcRequest> requests;
    for (int i = 0; i < 4; ++i)
        requests.push_back({addHung(65534).pid(), ProcPart::Facts});
    const Child other;
    requests.push_back({other.pid(), ProcPart::Facts});
    // Enough for one blocked read: the other user's process comes before the next of this user's.
    ProcBudget budget{.remaining =
                          service::ProcReader::answerTime + std::chrono::milliseconds{100}};
    const auto readings = reader.read(requests, budget);
    EXPECT_EQ(count<ProcHung>(readings), 1U);
    EXPECT_TRUE(isFactsOf(readings.back(), other.pid()));
}

// Returns the helper's PID, found by its children.
std::optional<pid_t> helperOfThisProcess() {
    std::ifstream children("/proc/self/task/" + std::to_string(::gettid()) + "/children");
    for (pid_t pid = 0; children >> pid;) {
        std::string name;
        std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
        if (name == "genvd-proc")
            return pid;
    }
    return std::nullopt;
}

TEST(ProcReader, StartsAnotherHelperWhereOneWasKilled) {
    std::vector<std::string> logged;
    service::ProcReader reader(procAccess(&logged));
    const auto self = static_cast<core::Pid>(::getpid());
    ProcBudget budget;
    ASSERT_TRUE(isFactsOf(reader.read({self, ProcPart::Facts}, budget), self));
    const auto helper = helperOfThisProcess();
    ASSERT_TRUE(helper);
    ::kill(*helper, SIGTERM); // as systemd does when it stops a unit
    EXPECT_TRUE(isFactsOf(reader.read({self, ProcPart::Facts}, budget), self));
    EXPECT_EQ(helperOfThisProcess(), helper) << "it ends with genvd";
    ::kill(*helper, SIGKILL);
    EXPECT_TRUE(isFactsOf(reader.read({self, ProcPart::Facts}, budget), self));
    EXPECT_NE(helperOfThisProcess(), helper);
}

// -- the protocol

TEST(ProcProtocol, SaysWhatWasAskedAndAnswered) {
    const auto requests = service::decodeProcRequests(
        service::encodeProcRequests({{7, ProcPart::Claims}, {8, ProcPart::Lineage}}));
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[1].pid, 8U);
    EXPECT_EQ(requests[1].part, ProcPart::Lineage);
    const core::Lineage lineage{{{7, 70}, {1, 2, 3, 4}, 6}, {{6, 60}, {5, 50}}};
    const auto answer =
        std::get<core::Lineage>(service::decodeProcAnswer(service::encodeProcAnswer(lineage)));
    EXPECT_EQ(answer.facts.identity, lineage.facts.identity);
    EXPECT_EQ(answer.facts.uids, lineage.facts.uids);
    EXPECT_EQ(answer.facts.parent, 6U);
    EXPECT_EQ(answer.ancestors, lineage.ancestors);
    for (const auto& slurm :
         {std::optional<core::SlurmCgroup>{}, std::optional(core::SlurmCgroup{12U, std::nullopt}),
          std::optional(core::SlurmCgroup{12U, 1001}),
          std::optional(core::SlurmCgroup{core::Sluid{UINT64_MAX}, std::nullopt})}) {
        service::ProcClaims claims;
        claims.slurm = slurm;
        EXPECT_EQ(std::get<service::ProcClaims>(
                      service::decodeProcAnswer(service::encodeProcAnswer(claims)))
                      .slurm,
                  slurm);
    }
}

TEST(ProcProtocol, RefusesPacketsThatAreNone) {
    const std::string good = service::encodeProcAnswer(
        service::ProcClaims{{7, 70},
                            core::EnvironmentHint{"an id", core::fromMicroseconds(17)},
                            core::Uid{1000},
                            true,
                            core::SlurmCgroup{12U, 1001}});
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_THROW(service::decodeProcAnswer(good.substr(0, size)), service::ProcProtocolError);
    EXPECT_THROW(service::decodeProcAnswer(good + "x"), service::ProcProtocolError);
    EXPECT_THROW(service::decodeProcAnswer("\xff"), service::ProcProtocolError);
    std::string huge = service::encodeProcAnswer(service::ProcArguments{"x"});
    huge[1] = huge[2] = huge[3] = huge[4] = '\xff';
    EXPECT_THROW(service::decodeProcAnswer(huge), service::ProcProtocolError);
    EXPECT_THROW(service::decodeProcRequests(""), service::ProcProtocolError);
    EXPECT_THROW(service::decodeProcRequests("1234567"), service::ProcProtocolError);
    EXPECT_THROW(service::decodeProcRequests(std::string(8, '\xff')), service::ProcProtocolError);
}

} // namespace
} // namespace genv::tests
