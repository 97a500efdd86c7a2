// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings before memory runs out. A warning is not repeated again and again.
#include "core/devices/memory_watch.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

class MemoryWatchTest : public RulesTest {
  protected:
    MemoryWatchTest() {
        activate("20", alice);
        attachShares("20", {0, 1}, mebibytes(4096));
        run(500, alice, {{0, gigabytes(1)}}, "20");
    }
    /// Returns the warnings, as "device used", when the process uses this amount of device 0.
    Texts uses(std::optional<core::Bytes> amount) {
        seen.processes.front().uses.front().usedMemory = amount;
        return look();
    }
    Texts look() {
        emitted.clear();
        watch.observed(ledger, seen);
        Texts texts;
        for (const auto& each : emittedOf<core::MemoryFilling>()) {
            EXPECT_EQ(each.environment, "20");
            EXPECT_EQ(each.owner, alice);
            EXPECT_EQ(each.share, mebibytes(4096));
            texts.push_back(
                fmt::format("{} {}", each.device.index, core::formatMebibytes(each.used)));
        }
        return texts;
    }

    core::MemoryWatch watch{events};
};

TEST_F(MemoryWatchTest, TellsOnceWhenAShareIsNearlyUsedUp) {
    EXPECT_EQ(uses(mebibytes(3686)), Texts{}) << "a mebibyte less than 90 percent";
    EXPECT_EQ(uses(mebibytes(3687)), Texts{"0 3687mi"});
    EXPECT_EQ(uses(mebibytes(4096)), Texts{}) << "all of it is not more than that";
}

TEST_F(MemoryWatchTest, TellsOnceMoreWhenItIsExceeded) {
    uses(mebibytes(3900));
    EXPECT_EQ(uses(mebibytes(4097)), Texts{"0 4097mi"});
    EXPECT_EQ(uses(mebibytes(5000)), Texts{});
    EXPECT_EQ(uses(mebibytes(4000)), Texts{}) << "worse was told already";
    EXPECT_EQ(uses(mebibytes(4097)), Texts{});
}

TEST_F(MemoryWatchTest, TellsAgainOnlyAfterItWasClearlyLess) {
    uses(mebibytes(4097));
    uses(mebibytes(3300));
    EXPECT_EQ(uses(mebibytes(4097)), Texts{}) << "80.5 percent is not clearly less";
    uses(mebibytes(3200));
    EXPECT_EQ(uses(mebibytes(3700)), Texts{"0 3700mi"});
    EXPECT_EQ(uses(mebibytes(4097)), Texts{"0 4097mi"});
}

TEST_F(MemoryWatchTest, SumsWhatTheEnvironmentsProcessesUseOfThatDevice) {
    activate("30", bob);
    run(501, alice, {{0, mebibytes(2900)}, {1, mebibytes(100)}}, "20");
    run(502, bob, {{0, gigabytes(8)}}, "30");
    run(503, alice, {{0, gigabytes(8)}});
    EXPECT_EQ(look(), Texts{"0 3853mi"});
}

TEST_F(MemoryWatchTest, TellsNothingOfWholeDevicesAndOfWhatIsNotKnown) {
    EXPECT_EQ(uses(std::nullopt), Texts{});
    attachIndices("20", {2});
    run(501, alice, {{2, gigabytes(16)}, {3, gigabytes(16)}}, "20");
    EXPECT_EQ(look(), Texts{});
}

TEST_F(MemoryWatchTest, ForgetsWithTheAttachment) {
    uses(mebibytes(3900));
    ledger.detach("20", {0}, alice);
    EXPECT_EQ(look(), Texts{});
    attachShares("20", {0}, mebibytes(4096));
    EXPECT_EQ(look(), Texts{"0 3900mi"});
}

} // namespace
} // namespace genv::tests
