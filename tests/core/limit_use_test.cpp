// SPDX-License-Identifier: LGPL-2.1-or-later
// The answer of GetLimits about a user: the limits, and how much of each is used, as the rules
// count it.
#include "core/limits/limit_use.hpp"
#include "tests/core/rules_fixture.hpp"

#include <map>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

class LimitUses : public RulesTest {
  protected:
    core::LimitUse of(std::string_view name, core::Uid uid = alice) {
        for (const core::LimitUse& use :
             core::limitUses(limits, {ledger, uid, &seen, idleness, clock.bootNow()})) {
            if (use.name == name)
                return use;
        }
        throw std::logic_error("no such limit");
    }
    core::Limits limits;
};

TEST_F(LimitUses, AreAllNamedForSomebodyWhoHasAndUsesNothing) {
    std::vector<std::string_view> names;
    for (const core::LimitUse& use :
         core::limitUses(limits, {ledger, alice, nullptr, idleness, clock.bootNow()})) {
        names.push_back(use.name);
        EXPECT_EQ(use.allowed, use.name == "MaxPreemptibleDevices" ? std::optional<std::uint64_t>(0)
                                                                   : std::nullopt)
            << use.name;
        EXPECT_EQ(use.used, 0U) << use.name;
    }
    EXPECT_EQ(names, (std::vector<std::string_view>{
                         "MaxDevicesPerUser", "MaxDevicesPerEnvironment", "MaxEnvironmentsPerUser",
                         "MaxProcessesPerUser", "MaxGpuMemoryPerUser", "MaxGpuMemoryPerDevice",
                         "MaxPreemptibleDevices", "MaxLifetime", "IdleTimeout"}));
}

TEST_F(LimitUses, CarryWhatAnAdministratorAllows) {
    limits = {2, 1, 3, 4, gigabytes(5), gigabytes(6), 90s, 2500ms};
    EXPECT_EQ(of("MaxDevicesPerUser").allowed, 2U);
    EXPECT_EQ(of("MaxDevicesPerEnvironment").allowed, 1U);
    EXPECT_EQ(of("MaxEnvironmentsPerUser").allowed, 3U);
    EXPECT_EQ(of("MaxProcessesPerUser").allowed, 4U);
    EXPECT_EQ(of("MaxGpuMemoryPerUser").allowed, 5'000'000'000U);
    EXPECT_EQ(of("MaxGpuMemoryPerDevice").allowed, 6'000'000'000U);
    EXPECT_EQ(of("MaxLifetime").allowed, 90U);
    EXPECT_EQ(of("IdleTimeout").allowed, 2U) << "in whole seconds";
}

TEST_F(LimitUses, CountDistinctDevicesAndTheMemoryOfShares) {
    activate("20", alice);
    activate("30", alice);
    activate("40", bob);
    attachShares("20", {0, 1}, gigabytes(4));
    attachShares("30", {1}, gigabytes(2));
    attachIndices("40", {3});
    EXPECT_EQ(of("MaxDevicesPerUser").used, 2U) << "device 1 counts once";
    EXPECT_EQ(of("MaxDevicesPerEnvironment").used, 2U) << "the environment with the most";
    EXPECT_EQ(of("MaxEnvironmentsPerUser").used, 2U);
    EXPECT_EQ(of("MaxGpuMemoryPerUser").used, 10'000'000'000U);
    EXPECT_EQ(of("MaxGpuMemoryPerDevice").used, 6'000'000'000U);
    EXPECT_EQ(of("MaxDevicesPerUser", bob).used, 1U);
}

TEST_F(LimitUses, CountTheProcessesInOnesEnvironmentsAndOnesOwnInNone) {
    activate("20", alice);
    attachIndices("20", {0});
    run(500, alice, {{0, gigabytes(1)}}, "20");
    run(501, alice, {{1, gigabytes(1)}});
    run(502, bob, {{1, gigabytes(1)}});
    run(503, root, {{0, gigabytes(1)}}, "20");
    EXPECT_EQ(of("MaxProcessesPerUser").used, 3U) << "root's in her environment, too";
    EXPECT_EQ(of("MaxProcessesPerUser", bob).used, 1U);
}

TEST_F(LimitUses, CountTheProcessesInOnesRootlessContainers) {
    run(500, 100'004, {{0, gigabytes(1)}}).userNamespaceOwner = alice;
    run(501, root, {{0, gigabytes(1)}}).userNamespaceOwner = alice;
    run(502, alice, {{0, gigabytes(1)}}).userNamespaceOwner = alice;
    EXPECT_EQ(of("MaxProcessesPerUser").used, 2U) << "root's stay root's";
    EXPECT_EQ(of("MaxProcessesPerUser", 100'004).used, 0U);
}

TEST_F(LimitUses, TakeTheOldestEnvironmentAndTheLongestIdleness) {
    activate("20", alice);
    attachIndices("20", {0});
    seen.started = clock.bootNow();
    idleness.observed(ledger, seen);
    clock.pass(1h);
    activate("30", alice);
    clock.pass(1min + 500ms);
    EXPECT_EQ(of("MaxLifetime").used, 3660U);
    EXPECT_EQ(of("IdleTimeout").used, 3660U);
    EXPECT_EQ(of("MaxLifetime", bob).used, 0U);
}

} // namespace
} // namespace genv::tests
