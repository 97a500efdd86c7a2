// SPDX-License-Identifier: LGPL-2.1-or-later
// Since when attachments are idle: not longer than anybody saw.
#include "core/idleness.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

class IdlenessTest : public RulesTest {
  protected:
    IdlenessTest() {
        activate("20", alice);
        attachIndices("20", {0, 1});
    }
    /// Looks after a time; device 0 is so busy.
    void lookAfter(std::chrono::microseconds time, std::optional<std::uint32_t> utilization) {
        clock.pass(time);
        seen.started = clock.bootNow();
        for (core::DeviceSample& device : seen.devices)
            device.reading.utilizationPercent = 0;
        seen.devices[0].reading.utilizationPercent = utilization;
        idleness.observed(ledger, seen);
    }
    std::chrono::milliseconds idle(core::DeviceIndex device, const std::string& id = "20") {
        return idleness.of(id, "GPU-" + std::to_string(device), clock.bootNow());
    }
};

TEST_F(IdlenessTest, BeginsWhenAnAttachmentIsFirstSeen) {
    EXPECT_EQ(idle(0), 0s) << "nobody has looked";
    clock.pass(1h);
    lookAfter(0s, 0);
    EXPECT_EQ(idle(0), 0s) << "after a restart everything counts as just used";
    lookAfter(5min, 0);
    EXPECT_EQ(idle(0), 5min);
    clock.pass(10s);
    EXPECT_EQ(idle(0), 5min + 10s);
}

TEST_F(IdlenessTest, EndsWithWorkOnThatDeviceOnly) {
    run(500, alice, {{0, gigabytes(1)}, {1, gigabytes(1)}}, "20");
    lookAfter(0s, 50);
    lookAfter(5min, 50);
    EXPECT_EQ(idle(0), 0s);
    EXPECT_EQ(idle(1), 5min) << "its utilisation is zero";
    lookAfter(1min, 0);
    EXPECT_EQ(idle(0), 1min) << "a process that does nothing uses nothing";
}

TEST_F(IdlenessTest, DoesNotEndWithSomebodyElsesWork) {
    activate("30", bob);
    run(500, bob, {{0, gigabytes(1)}}, "30");
    run(501, alice, {{0, gigabytes(1)}});
    lookAfter(0s, 100);
    lookAfter(5min, 100);
    EXPECT_EQ(idle(0), 5min);
}

TEST_F(IdlenessTest, IsNotHeldAgainstAProcessWhenTheDriverDoesNotKnow) {
    run(500, alice, {{0, std::nullopt}}, "20");
    lookAfter(0s, std::nullopt);
    lookAfter(5min, std::nullopt);
    EXPECT_EQ(idle(0), 0s);
}

TEST_F(IdlenessTest, IsForgottenWithTheAttachment) {
    lookAfter(0s, 0);
    lookAfter(5min, 0);
    ledger.detach("20", {0}, alice);
    lookAfter(1s, 0);
    EXPECT_EQ(idle(0), 0s);
    attachIndices("20", {0});
    lookAfter(1s, 0);
    EXPECT_EQ(idle(0), 0s) << "it is a new attachment";
    EXPECT_EQ(idle(1), 5min + 2s);
}

TEST_F(IdlenessTest, IsNeverLessThanZero) {
    lookAfter(0s, 0);
    EXPECT_EQ(idleness.of("20", "GPU-0", clock.bootNow() - 1h), 0s);
    EXPECT_EQ(idle(0, "no-such"), 0s);
}

} // namespace
} // namespace genv::tests
