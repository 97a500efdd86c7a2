// SPDX-License-Identifier: LGPL-2.1-or-later
// The start of an attachment's idle time: never earlier than an observation of it.
#include "core/base/duration.hpp"
#include "core/devices/idleness.hpp"
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
    /// Takes a sample after a time, with this utilisation of device 0.
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

class UseEventsTest : public IdlenessTest {
  protected:
    /// Takes a sample of the service, with this utilisation of device 0.
    void look(std::chrono::microseconds after, std::uint32_t utilization) {
        clock.pass(after);
        seen.started = clock.bootNow();
        seen.takenAt = clock.wallNow();
        for (core::DeviceSample& device : seen.devices)
            device.reading.utilizationPercent = 0;
        seen.devices[0].reading.utilizationPercent = utilization;
        use.observed(ledger, seen);
    }
    /// Returns the notices about device 0 as "in-use" and "idle", with the seconds since the
    /// previous notice.
    std::vector<std::string> emittedSinceLast() {
        std::vector<std::string> result;
        for (const core::Event& event : std::exchange(emitted, {})) {
            if (const auto* used = std::get_if<core::AttachmentInUse>(&event))
                result.push_back("in-use " + used->device.uuid + " " + age(used->since));
            if (const auto* idle = std::get_if<core::AttachmentIdle>(&event))
                result.push_back("idle " + idle->device.uuid + " " + age(idle->since));
        }
        return result;
    }
    std::string age(core::WallTime since) {
        return core::formatDuration(
            std::chrono::duration_cast<std::chrono::milliseconds>(clock.wallNow() - since));
    }

    core::Idleness use{events};
};

using UseTexts = std::vector<std::string>;

TEST_F(UseEventsTest, IsToldWhenItBeginsAndWhenItHasBeenOverForAMinute) {
    look(0s, 0); // the service started earlier
    ledger.detach("20", {}, alice);
    attachIndices("20", {0});
    run(500, alice, {{0, gigabytes(1)}}, "20");
    emitted.clear();
    look(10s, 0);
    look(5min, 0);
    EXPECT_EQ(emittedSinceLast(), UseTexts{}) << "a new attachment counts as idle";
    look(10s, 50);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"});
    look(10s, 50);
    look(59s, 0);
    EXPECT_EQ(emittedSinceLast(), UseTexts{});
    look(1s, 0);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"idle GPU-0 1min"});
    look(5min, 0);
    EXPECT_EQ(emittedSinceLast(), UseTexts{});
    look(1s, 1);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"});
}

TEST_F(UseEventsTest, IsNotToldOfAShortPause) {
    run(500, alice, {{0, gigabytes(1)}}, "20");
    look(0s, 50);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"});
    for (int minute = 0; minute < 10; ++minute) {
        look(30s, 0);
        look(30s, 50);
    }
    EXPECT_EQ(emittedSinceLast(), UseTexts{"idle GPU-1 10min"});
}

TEST_F(UseEventsTest, IsToldOfWhatWasThereAtStartEitherWay) {
    run(500, alice, {{0, gigabytes(1)}}, "20");
    look(0s, 50);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"});
    look(1min, 50);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"idle GPU-1 1min"})
        << "before the start it may have been in use";
}

TEST_F(UseEventsTest, BelongsToTheAttachmentAndNotToItsPlace) {
    run(500, alice, {{0, gigabytes(1)}}, "20");
    look(0s, 50);
    ledger.detach("20", {0}, alice);
    attachIndices("20", {0}); // between two samples
    emitted.clear();
    look(1s, 50);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"}) << "the new one is in use, too";
    ledger.detach("20", {0}, alice);
    attachIndices("20", {0});
    emitted.clear();
    look(2min, 0);
    EXPECT_EQ(emittedSinceLast(), UseTexts{"idle GPU-1 2min 1s"}) << "the new one was never in use";
}

TEST_F(UseEventsTest, IsNeverOlderThanTheAttachment) {
    look(0s, 0); // the service started earlier
    run(500, alice, {{0, gigabytes(1)}}, "20");
    seen.devices[0].reading.utilizationPercent = 50;
    seen.takenAt = clock.wallNow();
    seen.started = clock.bootNow();
    clock.pass(3s);
    ledger.detach("20", {0}, alice);
    attachIndices("20", {0});
    emitted.clear();
    use.observed(ledger, seen); // the use began earlier
    EXPECT_EQ(emittedSinceLast(), UseTexts{"in-use GPU-0 0s"});
}

} // namespace
} // namespace genv::tests
