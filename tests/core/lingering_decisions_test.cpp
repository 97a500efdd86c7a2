// SPDX-License-Identifier: LGPL-2.1-or-later
// How genvd decides whether an environment lingers: pinning takes a while, processes exit
// meanwhile, and an earlier sample may describe an earlier state.
#include "core/environments/jupyter_kernel_restarts.hpp"
#include "core/environments/root_process.hpp"
#include "tests/core/lingering_fixture.hpp"

namespace genv::tests {

using Pids = std::vector<core::Pid>;

namespace {

using Indices = std::vector<core::DeviceIndex>;

class LingeringDecision : public LingeringTest {
  protected:
    void join(const std::string& id, core::Pid pid) {
        processes.add(pid, alice);
        ledger.addProcess(id, core::adopt(processes.pin(pid), alice, alice), alice);
    }
};

TEST_F(LingeringDecision, ComesOnceEveryProcessIsPinned) {
    haveGpus(2);
    holding("10", alice, {0, 1});
    const auto one = worker(500, alice, {"GPU-0"}, "10");
    const auto other = worker(501, alice, {"GPU-1"}, "10");
    processes.slow = true;
    processes.exit(10);
    sample(sampleOf(2, {one, other}));
    EXPECT_TRUE(lingering.isSettling());
    EXPECT_FALSE(isLingering("10"));
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
    processes.later();
    EXPECT_FALSE(lingering.isSettling());
    EXPECT_EQ(pidsOf("10"), (Pids{500, 501}));
}

TEST_F(LingeringDecision, IsNotForAProcessThatExitsWhileAnotherIsPinned) {
    haveGpus(2);
    holding("10", alice, {0, 1});
    const auto one = worker(500, alice, {"GPU-0"}, "10");
    const auto other = worker(501, alice, {"GPU-1"}, "10");
    processes.slow = true;
    processes.exit(10);
    sample(sampleOf(2, {one, other}));
    processes.exit(500);
    processes.later();
    EXPECT_EQ(pidsOf("10"), Pids{501});
    EXPECT_EQ(devicesOf("10"), Indices{1}) << "nothing would ever give GPU 0 back";
}

TEST_F(LingeringDecision, WaitsForAProcessThatCannotBePinnedNow) {
    for (const core::ErrorCode why : {core::ErrorCode::Timeout, core::ErrorCode::LimitsExceeded}) {
        haveGpus(1);
        holding("10", alice, {0});
        const auto remaining = worker(500, alice, {"GPU-0"}, "10");
        processes.unreadable[500] = why;
        processes.exit(10);
        sample(sampleOf(1, {remaining}));
        EXPECT_FALSE(lingering.isSettling()) << "nobody is kept waiting for it";
        EXPECT_EQ(devicesOf("10"), Indices{0}) << "a device that may be in use";
        processes.unreadable.clear();
        sample(sampleOf(1, {remaining}));
        EXPECT_TRUE(isLingering("10"));
        processes.exit(500);
        sample(sampleOf(1, {}));
        EXPECT_EQ(ledger.find("10"), nullptr);
    }
}

TEST_F(LingeringDecision, IsNotMadeByTheSampleOfAnEarlierEnd) {
    haveGpus(1);
    holding("10", alice, {0});
    processes.exit(10);
    scheduler.turn(); // the sample is under way
    join("10", 11);
    const auto remaining = worker(500, alice, {"GPU-0"}, "10"); // and starts after that sample
    processes.exit(11);
    observer.keep([&] {
        core::Observation early = sampleOf(1, {});
        early.takenAt = clock.wallNow();
        return early;
    }());
    observer.answerKept();
    ASSERT_NE(ledger.find("10"), nullptr);
    EXPECT_EQ(devicesOf("10"), Indices{0});
    sample(sampleOf(1, {remaining}));
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(LingeringDecision, IsNotMadeByASampleFromBeforeItHadItsDevices) {
    haveGpus(1);
    sample(sampleOf(1, {}));
    clock.pass(std::chrono::seconds{1});
    holding("10", alice, {0});
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.exit(10);
    scheduler.turn();
    scheduler.pass(core::endingSampleDeadline); // the driver hangs
    ASSERT_NE(ledger.find("10"), nullptr) << "a GPU that is in use was offered as free";
    EXPECT_FALSE(lingering.isSettling());
    observer.fail("it hung");
    sample(sampleOf(1, {remaining}));
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(LingeringDecision, IsOverForAnEnvironmentThatSomethingElseEndsMeanwhile) {
    haveGpus(1);
    holding("10", alice, {0});
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.slow = true;
    processes.exit(10);
    sample(sampleOf(1, {remaining}));
    ledger.deactivate("10", root);
    processes.later();
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_FALSE(lingering.isSettling());
}

TEST_F(LingeringDecision, LeavesNoMembersToWhatComesUnderItsId) {
    haveGpus(1);
    holding("10", alice, {0});
    processes.exit(10);
    EXPECT_EQ(ledger.environmentOfFormer({10, 7}), ledger.find("10"));
    sample(sampleOf(1, {}));
    processes.add(11, alice);
    ledger.activate(newEnvironment("10", alice, 11), std::nullopt, alice);
    EXPECT_EQ(ledger.environmentOfFormer({10, 7}), nullptr) << "another one under the same id";
}

TEST_F(LingeringDecision, ComesOnceAJupyterKernelIsNotRestarted) {
    struct NoJupyterKernels : core::JupyterKernels {
        void find(core::Uid /*asker*/, core::Uid /*owner*/, const std::string& /*jupyterKernel*/,
                  core::Pid /*asking*/, std::function<void(Found)> answer) override {
            answer({});
        }
    };
    NoJupyterKernels jupyterKernels;
    core::JupyterKernelRestarts restarts{ledger, processes, jupyterKernels, clock, scheduler};
    processes.onExit(
        [&](const core::ProcessIdentity& process) { restarts.processExited(process); });
    haveGpus(2);
    processes.add(5, alice);
    core::NewEnvironment wanted = newEnvironment("10", alice, 10);
    wanted.processes.clear();
    wanted.jupyterKernels.push_back(
        {"abc", core::adopt(processes.pin(10), alice, alice), {5, processes.hold(5)}});
    ledger.activate(std::move(wanted), std::nullopt, alice);
    attachIndices("10", {0, 1});
    const auto child = worker(500, alice, {"GPU-1"}, "10");

    processes.exit(10);
    sample(sampleOf(2, {child}));
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1})) << "the next process of the kernel wants both";
    EXPECT_FALSE(isLingering("10"));
    for (auto remaining = core::jupyterKernelRestartTimeout; remaining.count() > 0;
         remaining -= core::jupyterKernelSearchInterval)
        scheduler.pass(core::jupyterKernelSearchInterval);
    sample(sampleOf(2, {child}));
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(devicesOf("10"), Indices{1});
    processes.exit(500);
    sample(sampleOf(2, {}));
    EXPECT_EQ(ledger.find("10"), nullptr);
    processes.onExit({});
}

// -- processes outside every environment use these devices

TEST_F(LingeringDecision, OfAnOccupiedDeviceWaitsForASampleAndNoLongerThanItsDeadline) {
    haveGpus(1);
    int calls = 0;
    occupancy.sample([&] { ++calls; });
    scheduler.turn();
    EXPECT_EQ(calls, 0);
    sample(sampleOf(1, {}));
    EXPECT_EQ(calls, 1);
    scheduler.pass(core::occupancySampleDeadline);
    EXPECT_EQ(calls, 1);

    occupancy.sample([&] { ++calls; });
    scheduler.pass(core::occupancySampleDeadline);
    EXPECT_EQ(calls, 2) << "the driver hangs";
    observer.fail("it hung");
    EXPECT_EQ(calls, 2);
}

TEST_F(LingeringDecision, OfAnOccupiedDeviceWaitsForProcessesThatGenvIsEnding) {
    haveGpus(1);
    int calls = 0;
    bool isEnding = true;
    occupancy.setEnding([&] { return isEnding; });
    occupancy.sample([&] { ++calls; });
    scheduler.pass(core::endingPause);
    EXPECT_TRUE(observer.waiting.empty()) << "the sample would show a process that ends";
    isEnding = false;
    scheduler.pass(core::endingPause);
    sample(sampleOf(1, {}));
    EXPECT_EQ(calls, 1);

    isEnding = true;
    occupancy.sample([&] { ++calls; });
    for (int pause = 0; pause < core::maxEndingPauses; ++pause)
        scheduler.pass(core::endingPause);
    sample(sampleOf(1, {}));
    EXPECT_EQ(calls, 2) << "the process does not end";
}

TEST_F(LingeringDecision, OfAReturnedDeviceIsMadeAnewOnceItsProcessIsGone) {
    haveGpus(1);
    holding("10", alice, {0});
    sample(sampleOf(1, {worker(500, alice, {"GPU-0"}, "10")}));
    ledger.deactivate("10", root);
    EXPECT_TRUE(ledger.device(0).occupied);
    scheduler.turn();
    ASSERT_EQ(observer.waiting.size(), 1U) << "the GPUs are sampled again";
    sample(sampleOf(1, {}));
    EXPECT_FALSE(ledger.device(0).occupied);
}

} // namespace
} // namespace genv::tests
