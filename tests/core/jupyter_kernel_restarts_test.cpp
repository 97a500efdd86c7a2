// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment keeps its GPUs while its Jupyter kernel is restarted, and no longer than that.
#include "core/environments/jupyter_kernel_restarts.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

class FakeJupyterKernels : public core::JupyterKernels {
  public:
    void find(core::Uid /*asker*/, core::Uid owner, const std::string& jupyterKernel,
              core::Pid /*asking*/, std::function<void(Found)> answer) override {
        asked.push_back(std::to_string(owner) + " " + jupyterKernel);
        answers.push_back(std::move(answer));
    }
    void answer(const Found& found) {
        const auto pending = std::exchange(answers, {});
        for (const auto& each : pending)
            each(found);
    }

    std::vector<std::string> asked;
    std::vector<std::function<void(Found)>> answers;
};

class JupyterKernelRestarts : public LedgerTest {
  protected:
    JupyterKernelRestarts() {
        haveGpus(2);
        processes.onExit(
            [this](const core::ProcessIdentity& process) { restarts.processExited(process); });
    }
    // Makes environment "10" with a GPU and the Jupyter kernel "abc", which is process 10 and was
    // started by process 5.
    void startJupyterKernel() {
        processes.add(5, alice);
        core::NewEnvironment wanted = newEnvironment("10", alice, 10);
        wanted.processes.clear();
        wanted.jupyterKernels.push_back(
            {"abc", core::adopt(processes.pin(10), alice, alice), {5, processes.hold(5)}});
        ledger.activate(std::move(wanted), std::nullopt, alice);
        attachCount("10", 1);
    }
    // Adds a process that starts now.
    std::shared_ptr<FakeProcesses::State> addLater(core::Pid pid, core::Uid uid) {
        return processes.add(pid, uid,
                             static_cast<std::uint64_t>(clock.boot.time_since_epoch() /
                                                        std::chrono::milliseconds{10}));
    }
    // Lets time pass as the loop does, one interval at a time.
    void pass(std::chrono::seconds time) {
        for (; time > std::chrono::seconds{0}; time -= core::jupyterKernelSearchInterval)
            scheduler.pass(core::jupyterKernelSearchInterval);
    }

    FakeJupyterKernels jupyterKernels;
    FakeScheduler scheduler;
    core::JupyterKernelRestarts restarts{ledger, processes, jupyterKernels, clock, scheduler};
};

TEST_F(JupyterKernelRestarts, KeepTheEnvironmentWhereTheNextProcessIsFound) {
    startJupyterKernel();
    processes.exit(10);
    ASSERT_NE(ledger.find("10"), nullptr);
    EXPECT_EQ(devicesOf("10").size(), 1U);
    pass(core::jupyterKernelSearchInterval);
    EXPECT_EQ(jupyterKernels.asked, std::vector<std::string>{std::to_string(alice) + " abc"});
    const auto next = addLater(20, alice);
    jupyterKernels.answer({next->facts.identity});
    ASSERT_EQ(ledger.get("10").jupyterKernels.size(), 1U);
    EXPECT_EQ(ledger.get("10").jupyterKernels[0].process.identity, next->facts.identity);
    pass(2 * core::jupyterKernelRestartTimeout);
    EXPECT_EQ(devicesOf("10").size(), 1U);
    EXPECT_EQ(jupyterKernels.asked.size(), 1U) << "it is looked for no more";
    processes.exit(20);
    pass(core::jupyterKernelRestartTimeout);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(JupyterKernelRestarts, KeepTheEnvironmentWhereTheNextProcessRegistersItself) {
    startJupyterKernel();
    processes.exit(10);
    addLater(20, alice);
    ledger.addJupyterKernel("10", {"abc", core::adopt(processes.pin(20), alice, alice)}, alice);
    EXPECT_EQ(ledger.get("10").jupyterKernels.size(), 1U);
    pass(2 * core::jupyterKernelRestartTimeout);
    EXPECT_NE(ledger.find("10"), nullptr);
    EXPECT_TRUE(jupyterKernels.asked.empty());
}

TEST_F(JupyterKernelRestarts, EndTheEnvironmentWhereNoProcessComesInTime) {
    startJupyterKernel();
    processes.exit(10);
    pass(core::jupyterKernelRestartTimeout - core::jupyterKernelSearchInterval);
    EXPECT_NE(ledger.find("10"), nullptr);
    jupyterKernels.answer({});
    pass(core::jupyterKernelSearchInterval);
    EXPECT_EQ(ledger.find("10"), nullptr);
    jupyterKernels.answer({addLater(20, alice)->facts.identity});
    EXPECT_EQ(ledger.find("10"), nullptr) << "an answer that comes too late changes nothing";
}

TEST_F(JupyterKernelRestarts, EndTheEnvironmentWhereNobodyIsLeftToStartTheJupyterKernelAgain) {
    startJupyterKernel();
    processes.exit(10);
    EXPECT_NE(ledger.find("10"), nullptr);
    processes.exit(5);
    EXPECT_EQ(ledger.find("10"), nullptr);

    startJupyterKernel();
    processes.exit(5);
    EXPECT_NE(ledger.find("10"), nullptr) << "the kernel runs on";
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(JupyterKernelRestarts, EndTheEnvironmentWhereTheStarterExitsBeforeItIsPinned) {
    startJupyterKernel();
    processes.slow = true;
    processes.exit(10);
    processes.exit(5);
    EXPECT_NE(ledger.find("10"), nullptr) << "the answer may be about another process";
    processes.later();
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(JupyterKernelRestarts, EndTheEnvironmentWhereTheStarterCannotBeHeldOnlyIfItHasExited) {
    processes.unheld = {5};
    startJupyterKernel();
    processes.exit(10);
    EXPECT_NE(ledger.find("10"), nullptr);
    pass(core::jupyterKernelRestartTimeout);
    ASSERT_EQ(ledger.find("10"), nullptr);

    startJupyterKernel();
    processes.exit(5);
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(JupyterKernelRestarts, KnowWhoStartedTheNextProcess) {
    startJupyterKernel();
    processes.exit(10);
    processes.add(6, alice);
    const auto next = addLater(20, alice);
    next->facts.parent = 6;
    pass(core::jupyterKernelSearchInterval);
    jupyterKernels.answer({next->facts.identity});
    processes.exit(5);
    processes.exit(20);
    EXPECT_NE(ledger.find("10"), nullptr);
    processes.exit(6);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(JupyterKernelRestarts, TakeNoProcessThatIsNotTheJupyterKernel) {
    startJupyterKernel();
    activate("30", alice);
    processes.exit(10);
    const auto first = addLater(20, alice)->facts.identity;
    const auto second = addLater(21, alice)->facts.identity;
    const auto bobs = addLater(22, bob)->facts.identity;
    const auto registered = ledger.get("30").processes.front().identity;
    const core::ProcessIdentity recycled{20, first.startTime + 1};
    const auto editor = processes.add(23, alice)->facts.identity; // started before the kernel ended
    for (const core::JupyterKernels::Found& wrong : std::vector<core::JupyterKernels::Found>{
             {first, second}, {bobs}, {registered}, {recycled}, {editor}}) {
        pass(core::jupyterKernelSearchInterval);
        jupyterKernels.answer(wrong);
        EXPECT_EQ(ledger.get("10").jupyterKernels[0].process.identity.pid, 10);
    }
    pass(core::jupyterKernelRestartTimeout);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_NE(ledger.find("30"), nullptr);
}

TEST_F(JupyterKernelRestarts, ConcernJupyterKernelsOnly) {
    activate("10", alice);
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
    startJupyterKernel();
    ledger.deactivate("10", alice);
    EXPECT_EQ(ledger.find("10"), nullptr) << "whoever ends it ends it at once";
}

TEST_F(JupyterKernelRestarts, LeaveNothingForWhoEndsTheEnvironmentMeanwhile) {
    startJupyterKernel();
    processes.exit(10);
    ledger.deactivate("10", alice);
    EXPECT_EQ(ledger.find("10"), nullptr);
    activate("10", bob);
    pass(2 * core::jupyterKernelRestartTimeout);
    EXPECT_NE(ledger.find("10"), nullptr) << "which is another one by now";
}

} // namespace
} // namespace genv::tests
