// SPDX-License-Identifier: LGPL-2.1-or-later
// Whose devices over-subscription takes, and whose consent it needs.
#include "core/placement/consent.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/queue_fixture.hpp"

#include <algorithm>
#include <random>

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::SharedWith;
using Ids = std::vector<core::EnvironmentId>;
using Indices = std::vector<core::DeviceIndex>;

constexpr core::Uid carol = 1003;

AttachRequest sharing(std::uint32_t count) {
    return {CountWanted{count}, {}, {}, true};
}

core::EnvironmentConfiguration consenting() {
    core::EnvironmentConfiguration configuration;
    configuration.overSubscribable = true;
    return configuration;
}

class Consent : public Queueing {
  protected:
    void consent(const std::string& id, bool consents) {
        core::EnvironmentConfigurationChange change;
        change.overSubscribable = consents;
        ledger.configure(id, change, ledger.get(id).uid);
        scheduler.turn();
    }
    [[nodiscard]] Ids withoutConsent(core::DeviceIndex index, core::Uid owner) const {
        return core::holdersWithoutConsent(ledger.device(index), owner);
    }
};

TEST_F(Consent, IsNeededOfEveryOtherHolderOfADevice) {
    haveGpus(1);
    activate("10", alice, consenting());
    activate("20", bob);
    activate("30", carol);
    attachIndices("10", {0});
    EXPECT_EQ(core::sharedWith(ledger.device(0), alice), SharedWith::Oneself);
    EXPECT_EQ(core::sharedWith(ledger.device(0), bob), SharedWith::Consenting);
    EXPECT_EQ(withoutConsent(0, bob), Ids{});
    attachIndices("20", {0}, true);
    EXPECT_EQ(withoutConsent(0, alice), Ids{"20"}) << "of those who joined, too";
    EXPECT_EQ(withoutConsent(0, bob), Ids{}) << "but not one's own";
    EXPECT_EQ(withoutConsent(0, carol), Ids{"20"});
    EXPECT_EQ(core::sharedWith(ledger.device(0), carol), SharedWith::Others);
    consent("20", true);
    consent("10", false);
    EXPECT_EQ(withoutConsent(0, carol), Ids{"10"});
    EXPECT_EQ(core::holdersWithoutConsent(ledger.device(0), std::nullopt), Ids{"10"})
        << "nothing is the own device of a user who is not known";
}

TEST_F(Consent, TakesOnesOwnDevicesThenThoseOfConsentingHoldersThenTheOthers) {
    haveGpus(4);
    activate("10", alice);
    activate("20", bob, consenting());
    activate("30", carol);
    activate("31", carol);
    attachIndices("10", {0});
    attachIndices("20", {1});
    attachIndices("30", {2});
    EXPECT_EQ(planned("31", sharing(1)).attach.at(0).facts.index, 3U) << "a free one first";
    attachIndices("31", {3});
    activate("32", carol);
    const core::Placement placement = planned("32", sharing(4));
    Indices order;
    for (const auto& device : placement.attach)
        order.push_back(device.facts.index);
    EXPECT_EQ(order, (Indices{2, 3, 1, 0}));
    EXPECT_EQ(placement.attach[2].withoutConsent, Ids{});
    EXPECT_EQ(placement.attach[3].withoutConsent, Ids{"10"});
    attachIndices("30", {3}, true);
    EXPECT_EQ(planned("32", sharing(3)).attach.at(2).facts.index, 1U)
        << "one's own with two holders is still before another's with one";
}

TEST_F(Consent, IsNotNeededAmongTheChildrenOfOneOwner) {
    haveGpus(1);
    activate("10", alice);
    attachIndices("10", {0});
    for (const core::Pid pid : {11U, 12U}) {
        core::NewEnvironment child = newEnvironment(std::to_string(pid), alice, pid);
        child.parent = "10";
        ledger.activate(std::move(child), std::nullopt, alice);
    }
    attachIndices("11", {0});
    const core::Placement placement = planned("12", sharing(1));
    EXPECT_TRUE(placement.overSubscribes());
    EXPECT_EQ(placement.attach.at(0).withoutConsent, Ids{});
}

TEST_F(Consent, IsNotNeededForAShareOfWhatIsFree) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1, gigabytes(10));
    const core::Placement placement = planned("20", {CountWanted{1}, {}, gigabytes(6), true});
    EXPECT_FALSE(placement.overSubscribes());
    EXPECT_EQ(placement.attach.at(0).withoutConsent, Ids{});
    EXPECT_EQ(planned("20", {CountWanted{1}, {}, gigabytes(7), true}).attach.at(0).withoutConsent,
              Ids{"10"});
}

TEST_F(Consent, ThatIsWithdrawnMakesAPlanStaleAndConsentThatIsGivenDoesNot) {
    haveGpus(1);
    activate("10", alice, consenting());
    activate("20", bob);
    attachIndices("10", {0});
    const core::Placement plan = planned("20", sharing(1));
    consent("10", false);
    EXPECT_FALSE(core::stillHolds(plan, ledger.devices(), ledger.find("20")));
    EXPECT_EQ(codeOf([&] { ledger.attach("20", plan, bob); }), ErrorCode::DeviceUnavailable);
    const core::Placement approved = planned("20", sharing(1));
    EXPECT_EQ(approved.attach.at(0).withoutConsent, Ids{"10"});
    activate("30", carol);
    attachIndices("30", {0}, true);
    EXPECT_FALSE(core::stillHolds(approved, ledger.devices(), ledger.find("20")))
        << "another holder was not asked about";
    ledger.detach("30", {}, carol);
    consent("10", true);
    EXPECT_TRUE(core::stillHolds(approved, ledger.devices(), ledger.find("20")));
    ledger.attach("20", approved, bob);
}

TEST_F(Consent, ThatIsWithdrawnLeavesThoseWhoAreThere) {
    haveGpus(1);
    activate("10", alice, consenting());
    activate("20", bob);
    attachIndices("10", {0});
    attachIndices("20", {0}, true);
    consent("10", false);
    EXPECT_EQ(devicesOf("20"), Indices{0});
    EXPECT_EQ(emittedOf<core::Detached>().size(), 0U);
    EXPECT_EQ(emittedOf<core::EnvironmentChanged>().back().field,
              core::EnvironmentField::OverSubscribable);
}

TEST_F(Consent, OfAHolderServesThoseWhoWait) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    core::Requester requester(&ledger.get("20"));
    requester.needsConsent = core::needsConsentToWait(bob);
    const core::Plan plan = queue.placeOrWait(sharing(1), requester);
    ASSERT_TRUE(std::holds_alternative<core::PlannedWait>(plan));
    ledger.attach("20", plan, bob);
    await(queue, "20", ledger.get("20").waits.back().ticket);
    scheduler.turn();
    EXPECT_FALSE(isGranted("20"));
    consent("10", true);
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), Indices{0});
}

TEST_F(Consent, IsAskedForAgainAtTheGrant) {
    haveGpus(1);
    activate("10", alice, consenting());
    attachIndices("10", {0});
    activate("20", bob);
    ledger.attach("20", core::PlannedWait{sharing(1), {}}, bob);
    activate("30", carol);
    ledger.attach("30", core::PlannedWait{sharing(1), {}}, core::Uid{0});
    await(queue, "20", ledger.get("20").waits.back().ticket);
    consent("10", false);
    EXPECT_FALSE(isGranted("20"));
    ledger.detach("10", {}, alice);
    scheduler.turn();
    EXPECT_TRUE(isGranted("20")) << "a free device needs nobody's consent";
    await(queue, "30", ledger.get("30").waits.back().ticket);
    scheduler.turn();
    EXPECT_TRUE(isGranted("30")) << "root asked for it";
}

TEST_F(Consent, OutlivesARestart) {
    haveGpus(1);
    activate("10", alice);
    attachIndices("10", {0});
    consent("10", true);
    EXPECT_TRUE(core::decodeState(store.documents.at("10")).configuration.overSubscribable);
    consent("10", false);
    EXPECT_FALSE(core::decodeState(store.documents.at("10")).configuration.overSubscribable);
}

TEST_F(Consent, StaysWithADeviceThatComesBack) {
    haveGpus(1);
    activate("10", alice, consenting());
    attachIndices("10", {0});
    ledger.driverFailed();
    core::Observation moved = gpus(1);
    moved.devices[0].facts.index = 3;
    ledger.observed(moved);
    EXPECT_EQ(withoutConsent(3, bob), Ids{});
    EXPECT_EQ(core::sharedWith(ledger.device(3), alice), SharedWith::Oneself);
}

// Random machines with random holders, against the definition.
TEST_F(Consent, IsNeverPassedOverWhereAnotherDeviceWouldDo) {
    std::mt19937 random(7);
    const auto upTo = [&](unsigned max) { return std::uniform_int_distribution(0U, max)(random); };
    constexpr core::DeviceIndex count = 6;
    haveGpus(count);
    const std::vector<core::Uid> users{alice, bob, carol};
    for (int i = 0; i < 9; ++i)
        activate(std::to_string(10 + i), users[static_cast<std::size_t>(i) % 3]);
    activate("50", alice);
    for (int round = 0; round < 500; ++round) {
        const std::string id = std::to_string(10 + upTo(8));
        if (upTo(2) == 0)
            ledger.detach(id, {}, ledger.get(id).uid);
        else
            attachIndices(id, {upTo(count - 1)}, true);
        consent(std::to_string(10 + upTo(8)), upTo(1) == 0);

        core::Requester requester(&ledger.get("50"));
        requester.needsConsent = upTo(1) == 0;
        const auto rank = [&](const core::TableDevice& device) {
            return device.holders.empty() ? 0
                                          : 1 + static_cast<int>(core::sharedWith(device, alice));
        };
        std::vector<int> ranks;
        for (const auto& [index, device] : ledger.devices().byIndex())
            ranks.push_back(rank(device));
        std::sort(ranks.begin(), ranks.end());
        if (requester.needsConsent)
            std::erase(ranks, 1 + static_cast<int>(SharedWith::Others));
        const std::uint32_t wanted = 1 + upTo(count - 1);
        if (wanted > ranks.size()) {
            EXPECT_EQ(codeOf([&] { core::place(sharing(wanted), ledger.devices(), requester); }),
                      ErrorCode::DeviceUnavailable);
            continue;
        }
        std::vector<int> taken;
        for (const auto& placed :
             core::place(sharing(wanted), ledger.devices(), requester).attach) {
            const core::TableDevice& device = ledger.device(placed.facts.index);
            taken.push_back(rank(device));
            EXPECT_EQ(placed.withoutConsent, core::holdersWithoutConsent(device, alice));
        }
        ranks.resize(wanted);
        EXPECT_EQ(taken, ranks);
    }
}

} // namespace
} // namespace genv::tests
