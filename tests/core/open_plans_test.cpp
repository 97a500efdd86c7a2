// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests at the same time plan for different devices, as long as there are enough equally good
// ones.
#include "tests/core/queue_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using Indices = std::vector<core::DeviceIndex>;

class OpenPlan : public Queueing {
  protected:
    static Indices indicesOf(const core::Plan& plan) {
        Indices indices;
        for (const auto& device : core::placementOf(plan).attach)
            indices.push_back(device.facts.index);
        return indices;
    }
    core::Plan plan(const AttachRequest& request) {
        return queue.place(request, &ledger.get("10"));
    }
    const AttachRequest one{CountWanted{1}, {}, {}, false};
};

TEST_F(OpenPlan, IsLeftAloneByLaterRequestsUntilItIsClosed) {
    haveGpus(3);
    activate("10", alice);
    auto first = queue.open(plan(one));
    EXPECT_EQ(indicesOf(plan(one)), Indices{1});
    const auto second = queue.open(plan(one));
    EXPECT_EQ(indicesOf(plan(one)), Indices{2});
    EXPECT_EQ(indicesOf(queue.placeOrWait(one, &ledger.get("10"))), Indices{2});
    first.reset();
    EXPECT_EQ(indicesOf(plan(one)), Indices{0});
}

TEST_F(OpenPlan, HasNoRightToItsDevices) {
    haveGpus(2);
    activate("10", alice);
    const core::Plan first = plan(one);
    const auto open = queue.open(first);
    EXPECT_EQ(indicesOf(plan({CountWanted{2}, {}, {}, false})), (Indices{0, 1}));
    EXPECT_EQ(indicesOf(plan({core::IndicesWanted{{0}}, {}, {}, false})), Indices{0});
    const auto second = queue.open(plan(one));
    EXPECT_EQ(indicesOf(plan(one)), Indices{0}) << "there is no other";
    EXPECT_TRUE(queue.stillHolds(first, &ledger.get("10")));
}

TEST_F(OpenPlan, IsNotAvoidedAtTheExpenseOfOthers) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    attachIndices("20", {1});
    const auto open = queue.open(plan(one));
    EXPECT_EQ(indicesOf(plan({CountWanted{1}, {}, {}, true})), Indices{0})
        << "the other one would be over-subscribed";
}

TEST_F(OpenPlan, OfASharePermitsOtherShares) {
    haveGpus(2);
    activate("10", alice);
    const core::Bytes half{ledger.devices().find(0)->memory().count / 2};
    const AttachRequest share{CountWanted{1}, {}, half, false};
    const auto first = queue.open(plan(share));
    EXPECT_EQ(indicesOf(plan(share)), Indices{0}) << "the other half";
    const auto second = queue.open(plan(share));
    EXPECT_EQ(indicesOf(plan(share)), Indices{1});
}

TEST_F(OpenPlan, OfAWaitNamesNoDevices) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("20", 1);
    EXPECT_EQ(queue.open(queue.placeOrWait(one, &ledger.get("10"))), nullptr);
}

} // namespace
} // namespace genv::tests
