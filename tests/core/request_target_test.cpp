// SPDX-License-Identifier: LGPL-2.1-or-later
// What polkit is asked about names the devices of a plan, and who did not consent to share them.
#include "core/requests/evaluated_request.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using Indices = std::vector<core::DeviceIndex>;

class RequestTarget : public LedgerTest {};

TEST_F(RequestTarget, NamesTheDevicesThatAPlanGives) {
    activate("20", alice);
    core::Target target = core::targetOf(ledger.get("20"));
    EXPECT_EQ(target.environment, "20");
    EXPECT_EQ(target.owner, alice);
    EXPECT_EQ(target.ownerName, "user1001");
    core::Placement placement;
    placement.attach = {{gpuFacts(1)}, {gpuFacts(3)}};
    core::addDevices(target, placement, true, ledger);
    EXPECT_EQ(target.devices, (Indices{1, 3}));
    EXPECT_EQ(target.gpus, 2U);
    EXPECT_TRUE(target.overSubscribes);

    core::Target waiting;
    const core::AttachRequest request{core::CountWanted{2}, {}, {}, false};
    core::addDevices(waiting, core::PlannedWait{request, placement}, false, ledger);
    EXPECT_EQ(waiting.gpus, 2U);
    EXPECT_TRUE(waiting.devices.empty()) << "which ones it will be is not known";
}

TEST_F(RequestTarget, NamesEachHolderWhoDidNotConsentOnce) {
    haveGpus(2);
    activate("10", bob);
    activate("11", bob);
    attachIndices("10", {1});
    attachIndices("11", {1}, true);
    activate("20", alice);
    core::Target target;
    core::addDevices(target, planned("20", {core::CountWanted{2}, {}, {}, true}), true, ledger);
    EXPECT_EQ(target.devices, (Indices{0, 1}));
    EXPECT_EQ(target.withoutConsent, (core::HeldDevices{{1}, {{bob, "user1002"}}}));
}

} // namespace
} // namespace genv::tests
