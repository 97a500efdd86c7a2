// SPDX-License-Identifier: LGPL-2.1-or-later
// Only the process that was judged is signalled, and only while the judgement still applies.
#include "core/rules/evictor.hpp"
#include "core/rules/terminator.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::TerminationOutcome;
using core::TerminationSignal;
using Signals = std::vector<TerminationSignal>;

class Termination : public LedgerTest {
  protected:
    static constexpr core::Pid victim = 500;
    static constexpr core::Pid self = 99;

    Termination() : process(processes.add(victim, bob)) { haveGpus(2); }

    core::Judged judged() {
        return {process->facts, bob, {"GPU-0"}, "20", {core::Reason::admin(), root}};
    }
    static core::Observation busy(std::vector<core::ObservedProcess> running) {
        core::Observation observation = gpus(2);
        observation.processes = std::move(running);
        return observation;
    }
    std::optional<TerminationOutcome> outcome;
    void terminate() {
        terminator.terminate(judged(), [this](TerminationOutcome result) { outcome = result; });
    }

    FakeObserver observer;
    FakeScheduler scheduler;
    core::Terminator terminator{processes, observer, scheduler, events, self, [] { return 10s; }};
    std::shared_ptr<FakeProcesses::State> process;
};

TEST_F(Termination, TerminatesAndThenKillsWhatIgnoresIt) {
    terminate();
    EXPECT_TRUE(process->signals.empty()) << "nothing before it was seen on its GPU";
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Signalled);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    const auto terminated = emittedOf<core::ProcessTerminated>();
    ASSERT_EQ(terminated.size(), 1U);
    EXPECT_EQ(terminated[0].pid, victim);
    EXPECT_EQ(terminated[0].owner, bob);
    EXPECT_EQ(terminated[0].devices, std::vector<core::DeviceIndex>{0});
    scheduler.pass(9s);
    EXPECT_EQ(process->signals.size(), 1U);
    scheduler.pass(1s);
    EXPECT_EQ(process->signals, (Signals{TerminationSignal::Terminate, TerminationSignal::Kill}));
}

TEST_F(Termination, DoesNotKillWhatEndedInTime) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    processes.exit(victim);
    processes.add(victim, alice, 8);
    scheduler.pass(10s);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    EXPECT_TRUE(processes.look(victim).has_value());
}

TEST_F(Termination, LeavesAProcessAloneThatBecameAnotherUserAfterTheFirstSignal) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    process->facts.uids = {0, 0, 0, 0};
    scheduler.pass(10s);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
}

TEST_F(Termination, LeavesARecycledPidAlone) {
    const core::Judged old = judged();
    processes.exit(victim);
    const auto stranger = processes.add(victim, alice, 8);
    terminator.terminate(old, [this](TerminationOutcome result) { outcome = result; });
    core::ObservedProcess seen = computeProcess(victim, alice, {"GPU-0"});
    seen.facts.identity.startTime = 8;
    observer.answer(busy({seen}));
    EXPECT_EQ(outcome, TerminationOutcome::Gone);
    EXPECT_TRUE(stranger->signals.empty());
}

// In the observation, the process has no known start time, and the uid of its folder in /proc.
TEST_F(Termination, EndsAProcessThatCannotBeRead) {
    core::Judged hung = judged();
    hung.facts.identity.startTime = core::ProcessIdentity::unreadStart + 1;
    terminator.terminate(hung, [this](TerminationOutcome result) { outcome = result; });
    core::ObservedProcess seen = computeProcess(victim, bob, {"GPU-0"});
    seen.facts.identity = hung.facts.identity;
    observer.answer(busy({seen}));
    EXPECT_EQ(outcome, TerminationOutcome::Signalled);
    scheduler.pass(10s);
    EXPECT_EQ(process->signals, (Signals{TerminationSignal::Terminate, TerminationSignal::Kill}));
}

TEST_F(Termination, LeavesAProcessAloneThatExitsMeanwhile) {
    terminate();
    processes.exit(victim);
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Gone);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Termination, LeavesAProcessAloneThatLeftTheDevice) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-1"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Changed);
    terminate();
    observer.answer(busy({}));
    EXPECT_EQ(outcome, TerminationOutcome::Changed);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Termination, LeavesAProcessAloneThatBecameAnotherUser) {
    terminate();
    process->facts.uids.effective = 0;
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Changed);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Termination, LeavesEverythingAloneWhileTheDriverDoesNotAnswer) {
    terminate();
    observer.fail("it hangs");
    EXPECT_EQ(outcome, TerminationOutcome::Unknown);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Termination, NeverTouchesTheMpsServerOrTheServiceItself) {
    core::ObservedProcess mps = computeProcess(victim, bob, {"GPU-0"});
    mps.isMpsServer = true;
    terminate();
    observer.answer(busy({mps}));
    EXPECT_EQ(outcome, TerminationOutcome::Protected);
    EXPECT_TRUE(process->signals.empty());
    EXPECT_TRUE(terminator.isProtected(computeProcess(self, root, {"GPU-0"})));
    EXPECT_TRUE(terminator.isProtected(computeProcess(1, root, {"GPU-0"})));
    EXPECT_FALSE(terminator.isProtected(computeProcess(victim, bob, {"GPU-0"})));
}

TEST_F(Termination, EndsTheMpsServerWhenRootNamesItButNeverTheServiceItself) {
    core::ObservedProcess mps = computeProcess(victim, bob, {"GPU-0"});
    mps.isMpsServer = true;
    core::Judged named = judged();
    named.isRootsRequest = true;
    terminator.terminate(named, [this](TerminationOutcome result) { outcome = result; });
    observer.answer(busy({mps}));
    EXPECT_EQ(outcome, TerminationOutcome::Signalled);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    EXPECT_FALSE(terminator.isUntouchable(mps));
    EXPECT_TRUE(terminator.isUntouchable(computeProcess(self, root, {"GPU-0"})));
    EXPECT_TRUE(terminator.isUntouchable(computeProcess(1, root, {"GPU-0"})));
}

TEST_F(Termination, TellsAProcessOnceToEnd) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    terminate();
    EXPECT_EQ(outcome, TerminationOutcome::Ending);
    EXPECT_TRUE(observer.waiting.empty()) << "there is nothing left to look at";
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    EXPECT_EQ(emittedOf<core::ProcessTerminated>().size(), 1U);
}

TEST_F(Termination, TellsAProcessOnceThatTwoJudgeAtTheSameTime) {
    terminate();
    std::optional<TerminationOutcome> second;
    terminator.terminate(judged(), [&](TerminationOutcome result) { second = result; });
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Signalled);
    EXPECT_EQ(second, TerminationOutcome::Ending);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    scheduler.pass(10s);
    EXPECT_EQ(process->signals, (Signals{TerminationSignal::Terminate, TerminationSignal::Kill}));
}

TEST_F(Termination, KnowsAKilledProcessUntilItIsGone) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    scheduler.pass(10s);
    ASSERT_EQ(process->signals.size(), 2U);
    terminate();
    EXPECT_EQ(outcome, TerminationOutcome::Ending) << "the driver may hold it for long";
    scheduler.pass(100s);
    EXPECT_EQ(process->signals.size(), 2U);
    const core::Judged old = judged();
    processes.exit(victim);
    terminator.terminate(old, [this](TerminationOutcome result) { outcome = result; });
    EXPECT_EQ(outcome, TerminationOutcome::Gone);
}

TEST_F(Termination, JudgesAProcessAnewThatBecameAnotherUserBeforeTheKill) {
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    process->facts.uids = {alice, alice, alice, alice};
    scheduler.pass(10s);
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate}) << "it was not judged";
    terminate();
    observer.answer(busy({computeProcess(victim, alice, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Signalled);
    EXPECT_EQ(process->signals,
              (Signals{TerminationSignal::Terminate, TerminationSignal::Terminate}));
}

TEST_F(Termination, DescribesEveryOutcomeInASentence) {
    EXPECT_EQ(core::describe(TerminationOutcome::Signalled, 7), "Process 7 was told to end");
    EXPECT_EQ(core::describe(TerminationOutcome::Ending, 7),
              "[DEBUG] Process 7 was told to end before");
    EXPECT_EQ(core::describe(TerminationOutcome::Gone, 7), "[DEBUG] Process 7 already terminated");
    EXPECT_EQ(core::describe(TerminationOutcome::Unknown, 7),
              "[ERROR] Process 7 is left alone, since the GPU driver does not answer");
}

class Eviction : public Termination {
  protected:
    Eviction() {
        events.subscribe([this](const core::Event& event) { evictor.onEvent(event); });
        activate("20", bob);
        attachIndices("20", {0, 1});
    }

    static core::ObservedProcess child(core::Pid pid, const core::DeviceUuid& device) {
        core::ObservedProcess process = computeProcess(pid, bob, {device});
        process.ancestors = {{20, 7}};
        return process;
    }
    // Answers first the evictor's sample and then the terminator's.
    void look(const std::vector<core::ObservedProcess>& running) {
        scheduler.turn();
        observer.answer(busy(running));
        observer.answer(busy(running));
    }

    SilentLog log;
    core::Evictor evictor{ledger, observer, terminator, scheduler, log};
};

TEST_F(Eviction, EndsTheProcessesOnADeviceThatAnAdministratorTook) {
    const auto other = processes.add(501, bob);
    const auto stranger = processes.add(502, alice);
    ledger.detachDevice(0, "20", root);
    look({child(victim, "GPU-0"), child(501, "GPU-1"), computeProcess(502, alice, {"GPU-0"})});
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    EXPECT_TRUE(other->signals.empty()) << "it runs on a device that is still attached";
    EXPECT_TRUE(stranger->signals.empty()) << "it belongs to nobody's environment";
}

TEST_F(Eviction, GoesOnUntilTheProcessHasEnded) {
    EXPECT_FALSE(evictor.isBusy() || terminator.isBusy());
    ledger.detachDevice(0, "20", root);
    EXPECT_TRUE(evictor.isBusy());
    scheduler.turn();
    EXPECT_TRUE(evictor.isBusy());
    observer.answer(busy({child(victim, "GPU-0")}));
    EXPECT_FALSE(evictor.isBusy());
    EXPECT_TRUE(terminator.isBusy());
    observer.answer(busy({child(victim, "GPU-0")}));
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
    EXPECT_TRUE(terminator.isBusy());
    process->exited = true;
    EXPECT_FALSE(terminator.isBusy());
}

TEST_F(Eviction, EndsNothingWhenARuleDetachesThatNamesTheProcessesItself) {
    ledger.takeAway("20", "GPU-0", {core::Reason::rule("max-devices-per-user"), root});
    scheduler.turn();
    EXPECT_TRUE(observer.waiting.empty());
}

TEST_F(Eviction, EndsNothingWhenTheOwnerDetaches) {
    ledger.detach("20", {}, bob);
    scheduler.turn();
    EXPECT_TRUE(observer.waiting.empty());
}

TEST_F(Eviction, KnowsTheProcessesOfAnEnvironmentThatAnAdministratorEnded) {
    ledger.deactivate("20", root);
    EXPECT_EQ(ledger.find("20"), nullptr);
    look({child(victim, "GPU-0")});
    EXPECT_EQ(process->signals, Signals{TerminationSignal::Terminate});
}

TEST_F(Eviction, SaysSoWhenTheDriverDoesNotAnswer) {
    ledger.detachDevice(0, "20", root);
    scheduler.turn();
    observer.fail("it hangs");
    EXPECT_TRUE(process->signals.empty());
    EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(Termination, DescribesWhatIsLeftAlone) {
    EXPECT_EQ(core::describe(TerminationOutcome::Changed, 7),
              "[DEBUG] Process 7 does not use its GPUs any more");
    EXPECT_EQ(core::describe(TerminationOutcome::Protected, 7),
              "[DEBUG] Process 7 serves others and is left alone");
}

TEST_F(Termination, HearsNothingOfALookThatOutlivedIt) {
    auto shortLived = std::make_unique<core::Terminator>(processes, observer, scheduler, events,
                                                         self, [] { return 10s; });
    shortLived->terminate(judged(), [this](TerminationOutcome result) { outcome = result; });
    shortLived.reset();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, std::nullopt);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Termination, SaysThatAProcessIsGoneThatCannotBeSignalledAnyMore) {
    process->vanishesWhenSignalled = true;
    terminate();
    observer.answer(busy({computeProcess(victim, bob, {"GPU-0"})}));
    EXPECT_EQ(outcome, TerminationOutcome::Gone);
    EXPECT_TRUE(emittedOf<core::ProcessTerminated>().empty()) << "nothing was terminated";
}

} // namespace
} // namespace genv::tests
