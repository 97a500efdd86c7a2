// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices on loan: how far they count towards limits and a user's use, and what happens to a loan
// that could not be parked.
#include "core/limits/admission.hpp"
#include "core/limits/limit_use.hpp"
#include "core/queue/quota_hold.hpp"
#include "tests/core/queue_fixture.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using core::Preemptible;
using core::QuotaViolation;
using Ids = std::vector<std::string>;

core::EnvironmentConfiguration lent(Preemptible preemptible = Preemptible::Park) {
    core::EnvironmentConfiguration configuration;
    configuration.preemptible = preemptible;
    return configuration;
}

// Limits that are admitted and watched alike: both read `limits`.
class LoanLimits : public RulesTest {
  protected:
    LoanLimits() : RulesTest(8) {
        rules.limitsOf = [this](const core::UserInfo& user) {
            return user.uid == root ? core::Limits{} : limits;
        };
        limits.maxDevices = 2;
        limits.maxPreemptibleDevices = 3;
        activate("10", alice);
        activate("20", alice, lent());
        activate("30", alice, lent(Preemptible::End));
    }
    QuotaViolation attaching(const std::string& id, std::vector<core::DeviceIndex> indices,
                             std::optional<core::Bytes> share = std::nullopt) {
        return core::admitAttachment(
            ledger, ledger.get(id), limits,
            planned(id, {core::IndicesWanted{std::move(indices)}, std::nullopt, share, true}));
    }
    core::LimitUse use(std::string_view name) {
        for (const core::LimitUse& each :
             core::limitUses(limits, {ledger, alice, &seen, idleness, clock.bootNow()})) {
            if (each.name == name)
                return each;
        }
        throw std::logic_error("no such limit");
    }
    core::Limits limits;
};

TEST_F(LoanLimits, DoNotCountAsManyLoansAsTheyAllow) {
    attachIndices("10", {0, 1});
    EXPECT_EQ(attaching("10", {2}),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
    EXPECT_EQ(attaching("20", {2, 3, 4}), std::nullopt);
    attachIndices("20", {2, 3});
    EXPECT_EQ(attaching("30", {4}), std::nullopt) << "the kind does not matter";
    EXPECT_EQ(attaching("30", {4, 5}),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
    EXPECT_TRUE(findings().empty());
    EXPECT_EQ(use("MaxDevicesPerUser").used, 2U);
    EXPECT_EQ(use("MaxPreemptibleDevices").used, 2U);
    EXPECT_EQ(use("MaxPreemptibleDevices").allowed, 3U);
}

TEST_F(LoanLimits, CountEveryLoanByDefault) {
    limits.maxPreemptibleDevices.reset();
    attachIndices("20", {0, 1});
    EXPECT_TRUE(attaching("20", {2}));
    attachIndices("20", {2});
    EXPECT_EQ(finding().message,
              "User alice is using 3 devices which is 1 more than the maximum allowed");
}

TEST_F(LoanLimits, CountSharesAndDevicesThatAreAlsoHeldOtherwise) {
    attachIndices("10", {0, 1});
    EXPECT_TRUE(attaching("20", {2}, gigabytes(4))) << "nobody can take a share";
    EXPECT_EQ(attaching("20", {1}), std::nullopt) << "alice has it anyway";
    attachIndices("20", {2, 3});
    EXPECT_EQ(use("MaxPreemptibleDevices").used, 2U);
    attachIndices("10", {3}, true);
    EXPECT_EQ(use("MaxPreemptibleDevices").used, 1U);
    EXPECT_EQ(use("MaxDevicesPerUser").used, 3U);
    EXPECT_EQ(finding().rule, core::Rule::MaxDevicesPerUser);
}

TEST_F(LoanLimits, OfMemoryAndOfEnvironmentsAndDevicesDoNotCountThemEither) {
    limits = {};
    limits.maxPreemptibleDevices = 2;
    limits.maxGpuMemory = gigabytes(16);
    limits.maxGpuMemoryPerDevice = gigabytes(8);
    limits.maxDevicesPerEnvironment = 1;
    EXPECT_TRUE(attaching("10", {0}));
    EXPECT_EQ(attaching("20", {0, 1}), std::nullopt);
    EXPECT_TRUE(attaching("20", {0, 1, 2}));
    attachIndices("20", {0, 1});
    run(500, alice, {{0, gigabytes(15)}, {1, gigabytes(15)}}, "20");
    EXPECT_TRUE(findings().empty());
    limits.maxPreemptibleDevices = 1;
    std::set<core::Rule> found;
    for (const core::Finding& finding : findings())
        found.insert(finding.rule);
    EXPECT_EQ(found, std::set{core::Rule::MaxGpuMemoryPerDevice})
        << "GPU 1, with 15 of 16 GB, now counts";
}

TEST_F(LoanLimits, TakeTheNewestLoanFirst) {
    limits.maxDevices = 1;
    limits.maxPreemptibleDevices = 1;
    attachIndices("20", {0});
    attachIndices("30", {1, 2});
    EXPECT_EQ(detachmentsOf(finding()), Texts{"30/GPU-2"});
}

TEST_F(LoanLimits, RefuseTheEndOfALoanThatWouldCount) {
    attachIndices("10", {0, 1});
    attachIndices("20", {2});
    EXPECT_EQ(core::admitEndOfLoan(ledger, ledger.get("20"), limits),
              "you may have 2 devices, and this would make 3 (MaxDevicesPerUser)");
    EXPECT_EQ(core::admitEndOfLoan(ledger, ledger.get("10"), limits), std::nullopt) << "it is none";
    ledger.detach("10", {1}, alice);
    EXPECT_EQ(core::admitEndOfLoan(ledger, ledger.get("20"), limits), std::nullopt);
}

TEST_F(LoanLimits, LetAnEnvironmentBeConfiguredForAllThatItMayHave) {
    core::EnvironmentConfigurationChange change;
    change.gpus = 5;
    EXPECT_TRUE(core::admitConfiguration(limits, change));
    EXPECT_EQ(core::admitConfiguration(limits, change, Preemptible::Park), std::nullopt);
    change.preemptible = Preemptible::No;
    EXPECT_TRUE(core::admitConfiguration(limits, change, Preemptible::Park));
    change.preemptible = Preemptible::End;
    EXPECT_EQ(core::admitConfiguration(limits, change), std::nullopt);
    change.gpus = 6;
    EXPECT_TRUE(core::admitConfiguration(limits, change));
}

TEST_F(LoanLimits, EndALoanThatFailedOnlyIfItTakesItsOwnerOverAQuota) {
    attachIndices("10", {0});
    attachIndices("20", {1});
    attachIndices("30", {2, 3});
    ledger.setLoanFailed("20", true);
    EXPECT_TRUE(findings().empty()) << "2 devices count";
    attachIndices("10", {4});
    run(500, alice, {{1, gigabytes(1)}}, "20");
    for (const bool keepsGrants : {false, true}) {
        rules.keepsGrants = keepsGrants;
        const core::Finding found = finding();
        EXPECT_EQ(found.rule, core::Rule::MaxPreemptibleDevices);
        EXPECT_EQ(found.user, alice);
        EXPECT_EQ(found.environment, "20");
        EXPECT_EQ(found.message, "Environment 20 is on loan but could not be parked for others, "
                                 "and takes user alice over a limit (MaxDevicesPerUser)");
        EXPECT_EQ(found.consequences.ended, Ids{"20"});
        EXPECT_EQ(pidsOf(found), Pids{500});
    }
    EXPECT_TRUE(attaching("30", {5}).has_value()) << "the failed loan counts in full";
    ledger.setLoanFailed("20", false);
    EXPECT_TRUE(findings().empty());
}

TEST_F(LoanLimits, EndALoanThatFailedOnlyAboveTheLimitOfItsEnvironment) {
    limits = {};
    limits.maxDevicesPerEnvironment = 2;
    limits.maxPreemptibleDevices = 3;
    attachIndices("20", {0, 1});
    ledger.setLoanFailed("20", true);
    EXPECT_TRUE(findings().empty()) << "it has what an environment may have";
    attachIndices("20", {2});
    EXPECT_EQ(finding().message, "Environment 20 is on loan but could not be parked for others, "
                                 "and takes user alice over a limit (MaxDevicesPerEnvironment)");
}

TEST_F(LoanLimits, EndTheNewestFailedLoanAndNoMoreThanNeeded) {
    attachIndices("10", {0});
    attachIndices("20", {1});
    attachIndices("30", {2});
    ledger.setLoanFailed("20", true);
    ledger.setLoanFailed("30", true);
    EXPECT_EQ(finding().environment, "30");
}

TEST_F(LoanLimits, DoNotHoldAFailureAgainstWhoIsNoLongerOnLoan) {
    ledger.setLoanFailed("10", true);
    EXPECT_FALSE(ledger.get("10").loanFailed) << "it is not on loan";
    ledger.setLoanFailed("20", true);
    EXPECT_TRUE(ledger.get("20").loanFailed);
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::End;
    ledger.configure("20", change, alice);
    EXPECT_TRUE(ledger.get("20").loanFailed) << "another kind is no success";
    change.preemptible = Preemptible::No;
    ledger.configure("20", change, alice);
    EXPECT_FALSE(ledger.get("20").loanFailed);
}

TEST(LoanAllowance, IsNothingByDefaultAndTheMostGenerousOfTheGroups) {
    const auto allowing = [](std::uint32_t count) {
        core::Limits limits;
        limits.maxPreemptibleDevices = count;
        return limits;
    };
    constexpr auto all = core::infinite<std::uint32_t>();
    const core::UserInfo user{alice, "alice", {1101, 1102}};
    const core::UserInfo unknown{alice, "1001", {}, true};
    core::LimitTable table;
    EXPECT_EQ(table.of(user).maxPreemptibleDevices, std::nullopt);
    table.groups = {{"a", allowing(2)}, {"b", allowing(4)}};
    table.ids.groups.names = {{1101, {"a"}}, {1102, {"b"}}};
    EXPECT_EQ(table.of(user).maxPreemptibleDevices, 4U);
    EXPECT_EQ(table.of(unknown).maxPreemptibleDevices, std::nullopt) << "in doubt none";
    EXPECT_EQ(table.enforcedOn(unknown).maxPreemptibleDevices, 4U) << "in doubt the most";
    table.users = {{"alice", allowing(all)}};
    EXPECT_EQ(table.of(user).maxPreemptibleDevices, all);
    const auto* row = core::findLimit("max-preemptible-devices");
    EXPECT_EQ(row->allowed(allowing(all)), std::nullopt) << "unlimited";
    EXPECT_EQ(row->allowed({}), 0U);
}

class LoanUses : public Queueing {
  protected:
    [[nodiscard]] double used(core::Uid uid) const { return use.of(uid, clock.bootNow()); }
};

TEST_F(LoanUses, AreATenthUntilParkingFailedAndInFullFromThen) {
    haveGpus(3);
    activate("10", alice, lent());
    attachCount("10", 2);
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 20, 0.1);
    ledger.setLoanFailed("10", true);
    EXPECT_NEAR(used(alice), 20, 0.1) << "the past stays";
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 220, 0.2);
    ledger.setLoanFailed("10", false);
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 240, 0.3);
    core::EnvironmentConfigurationChange change;
    change.preemptible = Preemptible::No;
    ledger.configure("10", change, alice);
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 440, 0.4);
}

TEST_F(LoanUses, OfSharesAreCountedAsAnyOther) {
    haveGpus(1);
    activate("10", alice, lent());
    attachCount("10", 1, gigabytes(4)); // of 16
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 25, 0.1);
}

TEST_F(LoanUses, AreHeldBackOnlyBeyondTheAllowance) {
    limits.maxDevices = 1;
    limits.maxPreemptibleDevices = 1;
    haveGpus(4);
    const core::AttachRequest two{core::CountWanted{2}, {}, {}, false};
    core::QuotaUse before;
    before.isLoan = true;
    EXPECT_EQ(core::quotaHold(two, ledger.devices(), nullptr, before, limits), std::nullopt);
    before.isLoan = false;
    EXPECT_EQ(core::quotaHold(two, ledger.devices(), nullptr, before, limits),
              (core::QuotaHold{"MaxDevicesPerUser", 0, 1}));
    EXPECT_TRUE(core::fitsQuota(two, ledger.devices(), true, limits, true));
    EXPECT_FALSE(core::fitsQuota(two, ledger.devices(), true, limits));
}

TEST_F(LoanUses, KeepDevicesForAWaitingRequestWithinTheAllowance) {
    limits.maxDevices = 1;
    limits.maxPreemptibleDevices = 2;
    haveGpus(3);
    activate("10", alice, lent());
    activate("20", bob);
    attachIndices("20", {2});
    ledger.attach("10", core::PlannedWait{{core::CountWanted{3}, {}, {}, false}, {}}, alice);
    for (const bool isLoan : {true, false}) {
        core::EnvironmentRecord environment = ledger.get("10");
        environment.configuration.preemptible = isLoan ? Preemptible::Park : Preemptible::No;
        core::KeptDevices kept(ledger, clock.bootNow(), std::chrono::seconds{0});
        kept.keep(environment, environment.waits.back(), limits);
        EXPECT_EQ(kept.of(alice).size(), isLoan ? 2U : 1U);
    }
}

TEST_F(LoanUses, BeginWithTheRequestThatLendsTheDevices) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 1);
    clock.pass(std::chrono::seconds{100});
    core::Terms terms;
    terms.preemptible = Preemptible::End;
    ledger.attach("10", planned("10", {core::CountWanted{2}, {}, {}, false}), alice, terms);
    EXPECT_EQ(ledger.get("10").configuration.preemptible, Preemptible::End);
    clock.pass(std::chrono::seconds{100});
    EXPECT_NEAR(used(alice), 120, 0.2);
}

} // namespace
} // namespace genv::tests
