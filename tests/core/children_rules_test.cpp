// SPDX-License-Identifier: LGPL-2.1-or-later
// The effects of the rules, the driver's samples and the ends of shells on environments within
// others.
#include "core/devices/idleness.hpp"
#include "core/devices/memory_watch.hpp"
#include "core/ledger/membership.hpp"
#include "tests/core/children_fixture.hpp"
#include "tests/core/isolation_fixture.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

// Environment 10 holds GPUs 0 and 1, and its child 11 the first of them.
class ChildrenUnderRules : public RulesTest {
  protected:
    ChildrenUnderRules() {
        activate("10", alice);
        attachIndices("10", {0, 1});
        startWithin("10", "11", {0});
    }
    void startWithin(const std::string& parent, const std::string& id,
                     std::vector<core::DeviceIndex> devices,
                     std::optional<core::Bytes> share = std::nullopt) {
        core::NewEnvironment wanted =
            newEnvironment(id, alice, static_cast<core::Pid>(std::stoul(id)));
        wanted.parent = parent;
        ledger.activate(std::move(wanted), std::nullopt, alice);
        attach(id, {core::IndicesWanted{std::move(devices)}, std::nullopt, share, false});
    }
};

TEST_F(ChildrenUnderRules, KeepTheirProcessesToTheirOwnDevices) {
    rules.switches.envDevices = true;
    run(500, alice, {{0, gigabytes(1)}}, "11");
    run(501, alice, {{0, gigabytes(1)}}, "10"); // on its own device, which the child holds
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(502, alice, {{1, gigabytes(1)}}, "11");
    EXPECT_EQ(messagesOf(findings()),
              Texts{"Process 502 from environment 11 is using non-attached GPU(s) 1"});
}

TEST_F(ChildrenUnderRules, AreSparedByTheLimitsThatTheirParentIsHeldTo) {
    table.general.maxEnvironments = 1;
    table.general.maxDevices = 2;
    table.general.maxDevicesPerEnvironment = 2;
    table.general.maxLifetime = 1h;
    EXPECT_EQ(messagesOf(findings()), Texts{});
    clock.pass(2h);
    const core::Finding tooOld = finding();
    EXPECT_EQ(tooOld.environment, "10");
    EXPECT_EQ(tooOld.consequences.ended, Texts{"10"});
}

TEST_F(ChildrenUnderRules, LoseTheirProcessesWithTheDeviceOfTheirParent) {
    table.general.maxDevices = 1;
    run(500, alice, {{1, gigabytes(1)}}, "10");
    startWithin("10", "12", {1});
    run(501, alice, {{1, gigabytes(1)}}, "12");
    const core::Finding found = finding();
    EXPECT_EQ(detachmentsOf(found), Texts{"10/GPU-1"});
    EXPECT_EQ(pidsOf(found), (Pids{500, 501}));
}

TEST_F(ChildrenUnderRules, FillTheShareOfTheirParent) {
    rules.switches.envMemory = true;
    activate("20", alice);
    attachShares("20", {2}, gigabytes(8));
    startWithin("20", "21", {2}, gigabytes(4));
    run(500, alice, {{2, gigabytes(5)}}, "20");
    run(501, alice, {{2, gigabytes(3)}}, "21");
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(502, alice, {{2, gigabytes(1)}}, "21");
    const core::Finding found = finding();
    EXPECT_EQ(found.environment, "20") << "its own 4 GB are not exceeded";
    EXPECT_EQ(pidsOf(found), Pids{502});
}

TEST_F(ChildrenUnderRules, WarnOfTheirParentsShareAsWell) {
    activate("20", alice);
    attachShares("20", {2}, gigabytes(8));
    startWithin("20", "21", {2}, gigabytes(7));
    run(501, alice, {{2, mebibytes(7600)}}, "21");
    core::MemoryWatch watch(events);
    watch.observed(ledger, seen);
    std::set<std::string> warned;
    for (const auto& event : emittedOf<core::MemoryFilling>())
        warned.insert(event.environment);
    EXPECT_EQ(warned, (std::set<std::string>{"20", "21"}));
}

TEST_F(ChildrenUnderRules, KeepTheirParentFromBeingIdle) {
    table.general.idleTimeout = 10min;
    run(500, alice, {{0, gigabytes(1)}}, "11");
    const auto look = [&](core::DeviceIndex working) {
        seen.started = clock.bootNow();
        for (core::DeviceSample& device : seen.devices)
            device.reading.utilizationPercent = device.facts.index == working ? 50 : 0;
        idleness.observed(ledger, seen);
    };
    look(0);
    clock.pass(20min);
    look(0);
    const core::Finding found = finding();
    EXPECT_EQ(detachmentsOf(found), Texts{"10/GPU-1"}) << "the one that nobody uses";
    clock.pass(20min);
    look(3);
    EXPECT_EQ(findings().size(), 2U) << "both of the parent's, and the child's not beside it";
}

TEST_F(ChildrenUnderRules, AreTheNearestToTheirProcesses) {
    const auto of = [&](std::vector<core::ProcessIdentity> ancestors,
                        const std::optional<core::SlurmCgroup>& job = std::nullopt) {
        core::ObservedProcess process = computeProcess(500, alice, {"GPU-0"});
        process.ancestors = std::move(ancestors);
        process.slurm = job;
        const core::EnvironmentRecord* environment =
            core::environmentOf(core::lookupIn(ledger), process);
        return environment != nullptr ? environment->id : "";
    };
    EXPECT_EQ(of({{400, 7}, {11, 7}, {10, 7}}), "11");
    EXPECT_EQ(of({{400, 7}, {10, 7}}), "10");
    ledger.startJob({12, alice, "alice", {"GPU-2"}});
    startWithin("slurm-12", "13", {2});
    EXPECT_EQ(of({{13, 7}}, core::SlurmCgroup{12U, alice}), "13");
    EXPECT_EQ(of({}, core::SlurmCgroup{12U, alice}), "slurm-12");
}

TEST_F(ChildrenUnderRules, OfAJobCountAsLittleAsTheJob) {
    table.general.maxProcesses = 1;
    ledger.startJob({12, alice, "alice", {"GPU-2", "GPU-3"}});
    startWithin("slurm-12", "13", {2});
    run(500, alice, {{2, gigabytes(1)}}, "13");
    run(501, alice, {{2, gigabytes(1)}}, "13");
    EXPECT_EQ(messagesOf(findings()), Texts{});
    rules.switches.envDevices = true;
    run(502, alice, {{3, gigabytes(1)}}, "13");
    EXPECT_EQ(findings().size(), 1U) << "but they keep to their devices";
}

// -- ends of shells

class ChildrenThatStay : public ChildrenTest {
  protected:
    ChildrenThatStay() { allowed = true; }
    // A process inside an environment, as a descendant of the environment's root process.
    core::ObservedProcess below(core::Pid root, core::Pid pid,
                                const std::vector<core::DeviceUuid>& devices) {
        core::ObservedProcess process = worker(pid, alice, devices, "");
        process.ancestors = {{root, 7}};
        return process;
    }
};

TEST_F(ChildrenThatStay, LeaveWhatTheyUseToTheirParentWhichLingersForIt) {
    holding("10", alice, {0, 1, 2});
    start("10", "11", alice);
    const core::ObservedProcess itself = computeProcess(11, alice, {"GPU-0"}); // the root
    const core::ObservedProcess below11 = below(11, 500, {"GPU-0"});
    processes.exit(10);
    EXPECT_TRUE(ledger.get("10").pendingEnd && ledger.get("11").isRegistered());
    sample(sampleOf(4, {itself, below11}));
    EXPECT_EQ(ledger.find("11"), nullptr);
    ASSERT_TRUE(isLingering("10"));
    EXPECT_EQ(devicesOf("10"), Indices{0});
    EXPECT_EQ(pidsOf("10"), (std::vector<core::Pid>{11, 500}));
    EXPECT_EQ(refusal([&] { start("10", "12", alice); }).first, core::ErrorCode::NoSuchProcess)
        << "nothing starts within it any more";
    processes.exit(11);
    processes.exit(500);
    sample(sampleOf(4, {}));
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(ChildrenThatStay, EndAtOnceWithAParentOfWhichNothingIsUsed) {
    holding("10", alice, {0, 1});
    start("10", "11", alice);
    processes.exit(10);
    sample(sampleOf(4, {}));
    EXPECT_EQ(ended(), (Words{"11 process-exit", "10 process-exit"}));
}

TEST_F(ChildrenThatStay, GoOnWhereSomebodyJoinsTheirParentInTime) {
    holding("10", alice, {0, 1});
    start("10", "11", alice);
    processes.exit(10);
    processes.add(90, alice);
    ledger.addProcess("10", core::adopt(processes.pin(90), alice, alice), alice);
    sample(sampleOf(4, {}));
    EXPECT_EQ(devicesOf("11"), Indices{0});
}

TEST_F(ChildrenThatStay, LingerThemselvesAndKeepTheDeviceFromTheirSiblings) {
    holding("10", alice, {0, 1});
    start("10", "11", alice);
    const core::ObservedProcess remaining = worker(500, alice, {"GPU-0"}, "11");
    processes.exit(11);
    sample(sampleOf(4, {remaining}));
    ASSERT_TRUE(isLingering("11"));
    start("10", "12", alice);
    EXPECT_EQ(devicesOf("12"), Indices{1});
    EXPECT_EQ(refusal([&] { start("10", "13", alice); }).first, core::ErrorCode::DeviceUnavailable);
    processes.exit(500);
    sample(sampleOf(4, {}));
    EXPECT_EQ(ledger.find("11"), nullptr);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
}

TEST_F(ChildrenThatStay, LeaveALostDeviceWithTheirParent) {
    holding("10", alice, {0, 3});
    start("10", "11", alice, count(2));
    const core::ObservedProcess remaining = worker(500, alice, {"GPU-3"}, "11");
    processes.exit(11);
    sample(sampleOf(4, {remaining}));
    ASSERT_TRUE(isLingering("11"));
    haveGpus(3); // the lingering child ends because its parent loses the device
    EXPECT_EQ(ledger.find("11"), nullptr);
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

// -- isolation

using ChildrenBehindTheGate = IsolationTest;

TEST_F(ChildrenBehindTheGate, OpenNothingToWhoeverHoldsItAlreadyAndCloseNothing) {
    haveNodes(2);
    activate("10", alice);
    attachIndices("10", {0});
    gates.calls.clear();
    core::NewEnvironment wanted = newEnvironment("11", alice, 11);
    wanted.parent = "10";
    ledger.activate(std::move(wanted), std::nullopt, alice);
    attachIndices("11", {0});
    processes.exit(11);
    EXPECT_TRUE(gates.calls.empty()) << "the kernel goes by users";
    core::NewEnvironment guest = newEnvironment("12", bob, 12);
    guest.parent = "10";
    ledger.activate(std::move(guest), std::nullopt, root);
    attachIndices("12", {0});
    EXPECT_EQ(gates.calls, std::vector<std::string>{"+195:0 1002"});
    ledger.detach("10", {0}, alice);
    EXPECT_TRUE(gates.granted.empty());
}

} // namespace
} // namespace genv::tests
