// SPDX-License-Identifier: LGPL-2.1-or-later
// Which environments a request takes, as a pure decision.
#include "core/placement/taking_plan.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

#include <set>

namespace genv::tests {
namespace {

using core::TakeableEnvironment;

class Planning : public ::testing::Test {
  protected:
    Planning() {
        for (core::DeviceIndex index = 0; index < 4; ++index) {
            core::TableDevice device;
            device.facts = gpuFacts(index);
            devices.insert(std::move(device));
        }
    }
    static core::DeviceUuid uuid(core::DeviceIndex index) { return "GPU-" + std::to_string(index); }
    void hold(const std::string& environment, const std::vector<core::DeviceIndex>& indices,
              std::optional<core::Bytes> share = {}) {
        for (const core::DeviceIndex index : indices) {
            core::Holder holder;
            holder.environment = environment;
            holder.attachment.device = gpuFacts(index);
            holder.attachment.share = share;
            devices.addHolder(uuid(index), std::move(holder));
        }
    }
    // Holds devices on loan. The later it is called, the younger is the loan.
    void lend(const std::string& environment, const std::vector<core::DeviceIndex>& indices,
              core::Bytes bytes = gigabytes(4)) {
        hold(environment, indices);
        TakeableEnvironment loan{environment, {}, bytes, loans.size() + 1};
        for (const core::DeviceIndex index : indices)
            loan.devices.push_back(uuid(index));
        loans.push_back(std::move(loan));
    }
    std::optional<core::TakingPlan> plan(const core::AttachRequest& request,
                                         const core::EnvironmentRecord* environment = nullptr) {
        return core::planTaking(request, environment, devices, loans, [this](const auto& device) {
            return !unusable.contains(device.facts.uuid);
        });
    }
    std::optional<core::TakingPlan> planCount(std::uint32_t count) {
        return plan({core::CountWanted{count}, {}, {}, false});
    }
    std::vector<std::string> victimsFor(std::uint32_t count) {
        const auto found = planCount(count);
        return found ? found->victims : std::vector<std::string>{"no plan"};
    }
    using Ids = std::vector<std::string>;

    core::DeviceTable devices;
    std::vector<TakeableEnvironment> loans;
    std::set<core::DeviceUuid> unusable;
};

TEST_F(Planning, UsesFreeDevicesBeforeLoans) {
    lend("a", {0, 1});
    hold("b", {2});
    EXPECT_EQ(planCount(2), (core::TakingPlan{{"a"}, {uuid(3), uuid(0)}}));
    EXPECT_EQ(victimsFor(1), Ids{}) << "a free device is enough";
}

TEST_F(Planning, TakesTheLeastMemoryThenTheYoungest) {
    lend("large", {0}, gigabytes(9));
    lend("old", {1}, gigabytes(4));
    lend("young", {2}, gigabytes(4));
    hold("b", {3});
    EXPECT_EQ(victimsFor(1), Ids{"young"});
    EXPECT_EQ(victimsFor(2), (Ids{"young", "old"}));
    EXPECT_EQ(victimsFor(3), (Ids{"young", "old", "large"}));
}

TEST_F(Planning, ParksNobodyWhoIsNotNeeded) {
    lend("one", {0}, gigabytes(1));
    lend("three", {1, 2, 3}, gigabytes(6));
    EXPECT_EQ(victimsFor(2), Ids{"three"}) << "it alone has enough";
    EXPECT_EQ(planCount(2)->devices.size(), 2U);
    EXPECT_EQ(victimsFor(4), (Ids{"one", "three"}));
}

TEST_F(Planning, PrefersWhoIsBeingParkedForTheRequestAnyway) {
    lend("small", {0}, gigabytes(1));
    lend("moving", {1}, gigabytes(9));
    hold("b", {2, 3});
    loans.back().isMoving = true;
    EXPECT_EQ(victimsFor(1), Ids{"moving"});
}

TEST_F(Planning, HasNoPlanThatFreeDevicesAndLoansDoNotComplete) {
    lend("a", {0, 1});
    hold("b", {2, 3});
    EXPECT_EQ(planCount(3), std::nullopt);
    EXPECT_TRUE(planCount(2));
    unusable = {uuid(1)};
    EXPECT_EQ(planCount(2), std::nullopt) << "somebody else has a right to it";
}

TEST_F(Planning, TakesNamedDevicesAllOrNothing) {
    lend("a", {0});
    lend("b", {1}, gigabytes(1));
    hold("c", {2});
    EXPECT_EQ(plan({core::IndicesWanted{{0, 3}}, {}, {}, false})->victims, Ids{"a"});
    EXPECT_EQ(plan({core::UuidsWanted{{uuid(1)}}, {}, {}, false})->victims, Ids{"b"});
    EXPECT_EQ(plan({core::IndicesWanted{{0, 2}}, {}, {}, false}), std::nullopt);
}

TEST_F(Planning, LeavesDevicesAloneThatAreUsedFromOutsideOrUnhealthy) {
    lend("a", {0, 1, 2, 3});
    devices.at(0).occupied = true;
    devices.at(1).health = {core::Health::State::Lost, 0};
    devices.at(2).health = {core::Health::State::Xid, 79};
    EXPECT_EQ(planCount(1), (core::TakingPlan{{"a"}, {uuid(3)}}));
    EXPECT_EQ(planCount(2), std::nullopt);
}

TEST_F(Planning, TakesOnlyDevicesOfTheWantedModel) {
    lend("a", {0});
    EXPECT_EQ(plan({core::CountWanted{1}, "another model", {}, false}), std::nullopt);
}

TEST_F(Planning, TakesWholeDevicesForAShareAndOnlyIfNoRestIsLarge) {
    lend("a", {0});
    hold("b", {1, 2, 3}, gigabytes(15));
    const core::AttachRequest request{core::CountWanted{1}, {}, gigabytes(4), false};
    EXPECT_EQ(plan(request)->victims, Ids{"a"});
    const core::AttachRequest small{core::CountWanted{1}, {}, gigabytes(1), false};
    EXPECT_EQ(plan(small)->victims, Ids{});
}

TEST_F(Planning, EstimatesTheDeviceWithTheMostMemory) {
    EXPECT_LT(core::estimateMove(gigabytes(1)), core::estimateMove(gigabytes(8)));
    EXPECT_GT(core::estimateMove(core::Bytes{0}).count(), 0);
}

TEST_F(Planning, TakesNothingThatTheEnvironmentHoldsItself) {
    lend("10", {0});
    hold("20", {1, 2, 3});
    core::EnvironmentRecord own;
    own.id = "10";
    own.attachments.emplace_back().device = gpuFacts(0);
    EXPECT_FALSE(plan({core::CountWanted{2}, {}, {}, false}, &own));
    EXPECT_FALSE(plan({core::IndicesWanted{{0, 1}}, {}, {}, false}, &own));
    EXPECT_TRUE(plan({core::CountWanted{1}, {}, {}, false})) << "another environment takes it";
}

} // namespace
} // namespace genv::tests
