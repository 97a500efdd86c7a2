// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of a limit: who is above it, and what happens when.
#include "core/rules/over_limits.hpp"
#include "tests/core/enforcer_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

Texts sentencesFor(const std::vector<core::LimitUse>& uses, const core::Settings& settings = {},
                   const std::string& user = "alice") {
    return core::describeOverLimits(user, uses, settings);
}

const std::vector<core::LimitUse> overEach{{"MaxDevicesPerUser", 1, 3},
                                           {"MaxDevicesPerEnvironment", 2, 3},
                                           {"MaxEnvironmentsPerUser", 0, 1},
                                           {"MaxProcessesPerUser", 3, 5},
                                           {"MaxGpuMemoryPerUser", 40'000'000'000, 64'000'000'000},
                                           {"MaxGpuMemoryPerDevice", 1'000'000'000, 3'000'000'001},
                                           {"MaxLifetime", 86400, 90000},
                                           {"IdleTimeout", 3600, 7200}};

TEST(OverLimits, SayWhatIsKeptAndWhatHappensToTheRest) {
    const Texts sentences = sentencesFor(overEach);
    ASSERT_EQ(sentences.size(), 8U);
    EXPECT_EQ(sentences[0],
              "alice holds 3 GPUs, 2 more than 1 (MaxDevicesPerUser): kept until given back");
    EXPECT_EQ(sentences[1],
              "alice holds 3 GPUs in one environment, 1 more than 2 (MaxDevicesPerEnvironment): "
              "kept until given back");
    EXPECT_EQ(sentences[2], "alice has 1 environment, 1 more than 0 (MaxEnvironmentsPerUser): "
                            "kept until their owner ends them");
    EXPECT_EQ(sentences[3], "alice runs 5 processes on GPUs, 2 more than 3 (MaxProcessesPerUser): "
                            "the newest are ended after 30s");
    EXPECT_EQ(sentences[4],
              "alice reserves 64g of GPU memory, 24g more than 40g (MaxGpuMemoryPerUser): kept "
              "until given back; processes that use more are ended after 30s");
    EXPECT_EQ(sentences[5],
              "alice reserves 2861mi of one GPU's memory, 1907mi more than 1g "
              "(MaxGpuMemoryPerDevice): kept until given back; processes that use more are ended "
              "after 30s");
    EXPECT_EQ(sentences[6], "alice has an environment of 1d 1h, 1h more than 1d (MaxLifetime): "
                            "kept until its lease or its last process ends");
    EXPECT_EQ(sentences[7], "alice has not used a GPU for 2h, 1h more than 1h (IdleTimeout): it is "
                            "detached after 30s");
}

TEST(OverLimits, SayWhenTheRulesActIfNothingIsKept) {
    core::Settings settings;
    settings.keepGrants = false;
    EXPECT_EQ(sentencesFor({{"MaxDevicesPerUser", 1, 3}}, settings),
              Texts{"alice holds 3 GPUs, 2 more than 1 (MaxDevicesPerUser): the newest are "
                    "detached after 30s"});
    settings.grace = 0s;
    EXPECT_EQ(sentencesFor({{"MaxLifetime", 60, 120}}, settings),
              Texts{"alice has an environment of 2min, 1min more than 1min (MaxLifetime): it ends "
                    "at once"});
    settings.dryRun = true;
    EXPECT_EQ(sentencesFor({{"MaxProcessesPerUser", 0, 1}}, settings),
              Texts{"alice runs 1 process on GPUs, 1 more than 0 (MaxProcessesPerUser): only "
                    "logged (DryRun=yes)"});
}

TEST(OverLimits, AreOnlyThoseThatAreExceeded) {
    EXPECT_EQ(sentencesFor({{"MaxDevicesPerUser", 3, 3},
                            {"MaxEnvironmentsPerUser", std::nullopt, 9},
                            {"MaxColors", 1, 2}}),
              Texts{});
}

TEST(OverLimits, ShowNoNameUnescaped) {
    EXPECT_EQ(sentencesFor({{"MaxDevicesPerUser", 0, 1}}, {}, "a\x1b[31m").at(0).substr(0, 19),
              "a\\x1b[31m holds 1 G");
}

class LoggedOverLimits : public EnforcerTest {
  protected:
    LoggedOverLimits() {
        observer.keep(seen);
        activate("20", alice);
        attachIndices("20", {0, 1, 2});
        activate("30", bob);
        attachIndices("30", {3});
    }
    void reload(const core::Settings& next) {
        log.lines.clear();
        core::logOverLimits({ledger, observer, userBase, idleness, clock, log}, settings, next);
        settings = next;
    }
    core::Settings settings;
};

TEST_F(LoggedOverLimits, AreThoseThatAReloadChanged) {
    core::Settings next;
    next.limits.general.maxDevices = 1;
    reload(next);
    EXPECT_EQ(
        log.lines,
        Texts{"alice holds 3 GPUs, 2 more than 1 (MaxDevicesPerUser): kept until given back"});
    next.limits.general.maxEnvironments = 5;
    reload(next);
    EXPECT_EQ(log.lines, Texts{}) << "nobody exceeds the new limit, and the old one was told";
    next.keepGrants = false;
    reload(next);
    EXPECT_EQ(log.lines, Texts{"alice holds 3 GPUs, 2 more than 1 (MaxDevicesPerUser): the newest "
                               "are detached after 30s"});
    next.limits.users["bob"].maxDevices = 0;
    reload(next);
    EXPECT_EQ(log.lines, Texts{"bob holds 1 GPU, 1 more than 0 (MaxDevicesPerUser): the newest "
                               "are detached after 30s"});
}

} // namespace
} // namespace genv::tests
