// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment whose last process has exited keeps the devices that its compute processes still
// use and returns the others. Nobody else gets the devices that it keeps.
#include "core/base/error.hpp"
#include "core/ledger/membership.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/lingering_fixture.hpp"

namespace genv::tests {

using Pids = std::vector<core::Pid>;

namespace {

using Indices = std::vector<core::DeviceIndex>;
using core::ErrorCode;

class Lingering : public LingeringTest {};

TEST_F(Lingering, EndsNothingBeforeASampleSaysWhetherItsDevicesAreUsed) {
    haveGpus(1);
    holding("10", alice, {0});
    emitted.clear();
    processes.exit(10);
    scheduler.turn();
    EXPECT_EQ(devicesOf("10"), Indices{0});
    EXPECT_FALSE(ledger.device(0).isAvailable(std::nullopt)) << "a device that may be in use";
    EXPECT_EQ(emittedOf<core::EnvironmentEnding>().size(), 1U);
    EXPECT_TRUE(emittedOf<core::EnvironmentRemoved>().empty());
    ASSERT_EQ(observer.waiting.size(), 1U);

    sample(sampleOf(1, {}));
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_TRUE(ledger.device(0).isAvailable(std::nullopt));
    ASSERT_EQ(emittedOf<core::Detached>().size(), 1U);
    EXPECT_EQ(emittedOf<core::Detached>()[0].cause.reason.text(), "process-exit");
}

TEST_F(Lingering, EndsAtOnceWhatHoldsNoDevice) {
    haveGpus(1);
    activate("10", alice);
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
    scheduler.turn();
    EXPECT_TRUE(observer.waiting.empty()) << "the driver was asked for nothing";
}

TEST_F(Lingering, EndsAtOnceWhereItIsNotAllowed) {
    allowed = false;
    haveGpus(1);
    holding("10", alice, {0});
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, KeepsTheDevicesInUseAndGivesTheOthersBack) {
    haveGpus(3);
    holding("10", alice, {0, 1, 2});
    const auto one = worker(500, alice, {"GPU-1"}, "10");
    const auto other = worker(501, alice, {"GPU-1", "GPU-2"}, "10");
    const auto foreign = worker(502, bob, {"GPU-0"}, "");
    processes.exit(10);
    sample(sampleOf(3, {one, other, foreign}));
    ASSERT_TRUE(isLingering("10"));
    EXPECT_EQ(devicesOf("10"), (Indices{1, 2}));
    EXPECT_EQ(pidsOf("10"), (Pids{500, 501}));

    processes.exit(500);
    scheduler.turn();
    EXPECT_FALSE(ledger.get("10").pendingEnd) << "the other one still keeps everything";
    EXPECT_EQ(devicesOf("10"), (Indices{1, 2}));

    processes.exit(501);
    EXPECT_EQ(devicesOf("10"), (Indices{1, 2})) << "before a fresh sample";
    sample(sampleOf(3, {}));
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, GoesOnForTheWorkersOfWhatLingered) {
    lingerOnGpu0(2);
    core::ObservedProcess child = childOf(500, 501);
    sample(sampleOf(2, {child}));
    processes.exit(500); // now a child of PID 1, without a claim
    child.ancestors = {};
    sample(sampleOf(2, {child}));
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(pidsOf("10"), Pids{501});
    processes.exit(501);
    sample(sampleOf(2, {}));
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, KnowsAMemberThatTheLastSampleKnew) {
    haveGpus(1);
    holding("10", alice, {0});
    core::ObservedProcess child = childOf(10, 500);
    sample(sampleOf(1, {child}));
    processes.exit(10);
    child.ancestors = {};
    sample(sampleOf(1, {child}));
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(Lingering, KnowsTheChildrenOfAShellThatDeactivatedIt) {
    haveGpus(1);
    holding("10", alice, {0});
    const core::ObservedProcess child = childOf(10, 500); // and the last sample was before it
    ledger.deactivate("10", alice);
    sample(sampleOf(1, {child}));
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(pidsOf("10"), Pids{500}) << "the shell itself is let go";
    EXPECT_EQ(ledger.environmentOfRoot({10, 7}), nullptr);
}

TEST_F(Lingering, HasItsMembersWhileItsEndIsPending) {
    haveGpus(1);
    holding("10", alice, {0});
    core::ObservedProcess child = childOf(10, 500);
    sample(sampleOf(1, {child}));
    processes.exit(10);
    child.ancestors = {};
    ledger.observed(sampleOf(1, {child}));
    EXPECT_FALSE(ledger.device(0).occupied) << "a rule would end it as a process of nobody's";
    EXPECT_EQ(core::environmentOf(core::lookupIn(ledger), child), ledger.find("10"));
}

TEST_F(Lingering, IsNotForProcessesOfOthers) {
    haveGpus(1);
    holding("10", alice, {0});
    const auto liar = worker(500, bob, {"GPU-0"}, "10");
    processes.exit(10);
    sample(sampleOf(1, {liar}));
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_TRUE(ledger.device(0).occupied) << "and whoever gets it next is told";
    EXPECT_EQ(ledger.device(0).occupant.pid, 500U);
    EXPECT_EQ(ledger.device(0).occupant.uid, bob);
}

TEST_F(Lingering, IsNotForTheMpsServer) {
    haveGpus(2);
    holding("10", alice, {0, 1});
    core::ObservedProcess server = worker(500, alice, {"GPU-0", "GPU-1"}, "10");
    server.isMpsServer = true;
    const core::ObservedProcess program = worker(501, alice, {"GPU-1"}, "10");
    processes.exit(10);
    sample(sampleOf(2, {server, program}));
    EXPECT_EQ(pidsOf("10"), Pids{501});
    EXPECT_EQ(devicesOf("10"), Indices{1});
    processes.exit(501);
    sample(sampleOf(2, {server}));
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, TakesTheLastSampleWhenTheDriverDoesNotAnswerInTime) {
    haveGpus(2);
    holding("10", alice, {0});
    holding("20", bob, {1});
    sample(sampleOf(2, {worker(500, alice, {"GPU-0"}, "10")}));
    processes.exit(10);
    processes.exit(20);
    scheduler.turn();
    scheduler.pass(core::endingSampleDeadline - std::chrono::milliseconds{1});
    EXPECT_NE(ledger.find("20"), nullptr);
    EXPECT_FALSE(isLingering("10"));
    scheduler.pass(std::chrono::milliseconds{1});
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(ledger.find("20"), nullptr);
    observer.fail("it hung");
    scheduler.turn();
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(Lingering, DoesNotLetTheLastSampleKeepADeviceForAProcessThatIsGone) {
    haveGpus(1);
    holding("10", alice, {0});
    sample(sampleOf(1, {worker(500, alice, {"GPU-0"}, "10")}));
    processes.exit(500);
    processes.exit(10);
    scheduler.turn();
    scheduler.pass(core::endingSampleDeadline);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, DoesNotBelieveThatNoDriverMeansNoProcesses) {
    haveGpus(1);
    holding("10", alice, {0});
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    sample(sampleOf(1, {remaining}));
    core::Observation none;
    none.noDriver = "the library does not match the driver";
    sample(none);
    processes.exit(10);
    sample(none);
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(Lingering, KeepsWhatItCannotDecideUntilTheDriverAnswers) {
    haveGpus(1);
    holding("10", alice, {0}); // and no sample has ever been taken
    processes.exit(10);
    scheduler.turn();
    scheduler.pass(core::endingSampleDeadline);
    observer.fail("it hung");
    scheduler.turn();
    EXPECT_FALSE(lingering.isSettling()) << "nobody is kept waiting for it";
    EXPECT_FALSE(ledger.device(0).isAvailable(std::nullopt));
    sample(sampleOf(1, {worker(500, alice, {"GPU-0"}, "10")}));
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(Lingering, TakesNoNewDevices) {
    lingerOnGpu0(2);
    EXPECT_EQ(codeOf([&] { attachIndices("10", {1}); }), ErrorCode::NoSuchProcess);
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Lingering, EndsTheWaitOfAnEnvironmentWhoseProcessIsGone) {
    haveGpus(2);
    holding("10", alice, {0});
    holding("20", bob, {1});
    ASSERT_TRUE(askCount("10", 2));
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.exit(10);
    scheduler.turn();
    EXPECT_TRUE(ledger.waits().empty());
    EXPECT_EQ(refusalOf("10"), ErrorCode::NoSuchEnvironment);
    sample(sampleOf(2, {remaining}));
    EXPECT_TRUE(isLingering("10"));
    ASSERT_EQ(emittedOf<core::WaitEnded>().size(), 1U);
    EXPECT_EQ(emittedOf<core::WaitEnded>()[0].cause.reason.text(), "process-exit");
}

TEST_F(Lingering, ServesTheQueueOnlyOnceTheProcessIsGone) {
    lingerOnGpu0(2);
    holding("20", bob, {1});
    activate("30", bob);
    ASSERT_TRUE(askCount("30", 1));
    sample(sampleOf(2, {}));
    EXPECT_FALSE(isGranted("30"));
    processes.exit(500);
    scheduler.turn();
    EXPECT_FALSE(isGranted("30")) << "before a fresh sample";
    sample(sampleOf(2, {}));
    EXPECT_TRUE(isGranted("30"));
    EXPECT_EQ(devicesOf("30"), Indices{0});
}

TEST_F(Lingering, IsEndedByRulesLeasesAndAdministratorsLikeAnyOther) {
    lingerOnGpu0(2);
    ledger.end("10", {core::Reason::expired(), 0, true});
    EXPECT_EQ(ledger.find("10"), nullptr);
    ASSERT_EQ(emittedOf<core::Detached>().size(), 1U);
    EXPECT_TRUE(emittedOf<core::Detached>()[0].cause.endsProcesses);
}

TEST_F(Lingering, IsEndedByAnAdministrator) {
    lingerOnGpu0(2);
    ledger.deactivate("10", root);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Lingering, EndsWithTheLastDeviceThatIsTakenFromIt) {
    lingerOnGpu0(2);
    ledger.detachDevice(0, std::nullopt, root);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(Lingering, GoesOnWhenItsOwnerDeactivatesItAgain) {
    lingerOnGpu0(2);
    ledger.deactivate("10", alice);
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(pidsOf("10"), Pids{500});
}

TEST_F(Lingering, IsAnEnvironmentAgainOnceItsOwnerJoinsIt) {
    lingerOnGpu0(2);
    processes.add(11, alice);
    ledger.addProcess("10", core::adopt(processes.pin(11), alice, alice), alice);
    EXPECT_FALSE(isLingering("10"));
    attachIndices("10", {1});
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));

    // It lingers again, with the devices that are still in use.
    processes.exit(11);
    sample(sampleOf(2, {worker(500, alice, {"GPU-0"}, "10")}));
    EXPECT_TRUE(isLingering("10"));
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Lingering, DoesNotEndWhatItsOwnerJoinsBeforeTheSample) {
    haveGpus(1);
    holding("10", alice, {0});
    processes.exit(10);
    scheduler.turn();
    processes.add(11, alice);
    ledger.addProcess("10", core::adopt(processes.pin(11), alice, alice), alice);
    sample(sampleOf(1, {}));
    ASSERT_NE(ledger.find("10"), nullptr);
    EXPECT_EQ(devicesOf("10"), Indices{0});
    EXPECT_EQ(pidsOf("10"), Pids{11});
}

TEST_F(Lingering, SharesOneSampleAmongThoseThatEndTogether) {
    haveGpus(3);
    for (const core::DeviceIndex index : {0U, 1U, 2U}) {
        const core::Pid pid = 10 + index;
        holding(std::to_string(pid), alice, {index});
    }
    for (const core::Pid pid : {10U, 11U, 12U})
        processes.exit(pid);
    scheduler.turn();
    EXPECT_EQ(observer.waiting.size(), 1U);
    sample(sampleOf(3, {}));
    EXPECT_TRUE(ledger.environments().empty());
}

TEST_F(Lingering, IsToldToItsOwnerOnceAndOnlyWhenItLasts) {
    lingerOnGpu0(2);
    scheduler.pass(core::lingeringReportDelay - std::chrono::milliseconds{1});
    EXPECT_TRUE(emittedOf<core::EnvironmentLingers>().empty()) << "children that die are no news";
    scheduler.pass(std::chrono::milliseconds{1});
    const auto news = emittedOf<core::EnvironmentLingers>();
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].environment, "10");
    EXPECT_EQ(news[0].owner, alice);
    EXPECT_EQ(news[0].processes, Pids{500});
    ASSERT_EQ(news[0].devices.size(), 1U);
    EXPECT_EQ(news[0].devices[0].index, 0U);

    // Another worker takes over.
    processes.exit(500);
    sample(sampleOf(2, {worker(501, alice, {"GPU-0"}, "10")}));
    scheduler.pass(core::lingeringReportDelay);
    EXPECT_EQ(emittedOf<core::EnvironmentLingers>().size(), 1U);
}

TEST_F(Lingering, IsSilentAboutChildrenThatAreDying) {
    lingerOnGpu0(1);
    processes.exit(500);
    sample(sampleOf(1, {}));
    scheduler.pass(core::lingeringReportDelay);
    EXPECT_TRUE(emittedOf<core::EnvironmentLingers>().empty());
}

TEST_F(Lingering, TellsTheChangeOfItsState) {
    haveGpus(1);
    holding("10", alice, {0});
    const auto remaining = worker(500, alice, {"GPU-0"}, "10");
    processes.exit(10);
    emitted.clear();
    sample(sampleOf(1, {remaining}));
    std::vector<core::EnvironmentField> fields;
    for (const auto& change : emittedOf<core::EnvironmentChanged>())
        fields.push_back(change.field);
    EXPECT_EQ(fields,
              (std::vector{core::EnvironmentField::Processes, core::EnvironmentField::Lingering}));
}

TEST_F(Lingering, CallsBackOnceEverythingThatEndsIsDecided) {
    haveGpus(1);
    holding("10", alice, {0});
    std::vector<std::string> order;
    lingering.whenSettled([&] { order.emplace_back("nothing ends"); });
    scheduler.turn();
    processes.exit(10);
    EXPECT_TRUE(lingering.isSettling());
    lingering.whenSettled(
        [&] { order.emplace_back(ledger.find("10") == nullptr ? "it ended" : "it is undecided"); });
    scheduler.turn();
    EXPECT_EQ(order.size(), 1U);
    sample(sampleOf(1, {}));
    EXPECT_EQ(order, (std::vector<std::string>{"nothing ends", "it ended"}));
    EXPECT_FALSE(lingering.isSettling());
}

TEST_F(Lingering, CannotBeOutlivedByItsStateInTheStore) {
    lingerOnGpu0(2);
    const core::EnvironmentRecord before = ledger.get("10");
    EXPECT_EQ(core::decodeState(store.documents.at("10")), before);
    processes.exit(500);
    EXPECT_EQ(core::decodeState(store.documents.at("10")), ledger.get("10"));
    EXPECT_TRUE(ledger.get("10").pendingEnd);
    sample(sampleOf(2, {}));
    EXPECT_TRUE(store.documents.empty());
}

} // namespace
} // namespace genv::tests
