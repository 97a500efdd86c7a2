// SPDX-License-Identifier: LGPL-2.1-or-later
// The grants that the kernel gets while environments come and go.
#include "core/ledger/supposition.hpp"
#include "tests/core/isolation_fixture.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace genv::tests {
namespace {

using core::IsolationMode;
using GrantTexts = std::set<std::string>;
using GateCalls = std::vector<std::string>;

TEST_F(IsolationTest, OpensADeviceToItsHolderAloneAndClosesItAgain) {
    haveNodes(2);
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    EXPECT_EQ(gates.inMode, core::GateMode::Refuse);
    activate("100", alice);
    attachIndices("100", {0});
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
    ledger.detach("100", {0}, alice);
    EXPECT_EQ(gates.texts(), GrantTexts{});
}

TEST_F(IsolationTest, ClosesADeviceBeforeAnybodyHearsThatItIsFree) {
    haveNodes(1);
    activate("100", alice);
    attachIndices("100", {0});
    std::optional<GrantTexts> atDetached;
    events.subscribe([&](const core::Event& event) {
        if (std::holds_alternative<core::Detached>(event))
            atDetached = gates.texts();
    });
    processes.exit(100);
    EXPECT_EQ(atDetached, GrantTexts{});
}

TEST_F(IsolationTest, OpensADeviceBeforeItsDocumentIsWritten) {
    haveNodes(1);
    activate("100", alice);
    store.writesUntilFailure = 0;
    EXPECT_THROW(attachIndices("100", {0}), core::Error);
    EXPECT_EQ(gates.calls, (GateCalls{"+195:0 1001", "-195:0 1001"}));
    EXPECT_EQ(devicesOf("100"), std::vector<core::DeviceIndex>{});
}

TEST_F(IsolationTest, RefusesARequestThatTheKernelDoesNotTakeOver) {
    haveNodes(1);
    activate("100", alice);
    gates.fails = true;
    EXPECT_THROW(attachIndices("100", {0}), core::Error);
    EXPECT_EQ(devicesOf("100"), std::vector<core::DeviceIndex>{});
    EXPECT_FALSE(ledger.isHeldBy(ledger.device(0).facts.uuid, alice));
}

TEST_F(IsolationTest, RefusesNoRequestWhileItOnlyWatches) {
    settings.mode = IsolationMode::Watch;
    haveNodes(1);
    EXPECT_EQ(gates.inMode, core::GateMode::Watch);
    activate("100", alice);
    gates.fails = true;
    attachIndices("100", {0});
    EXPECT_EQ(devicesOf("100"), std::vector<core::DeviceIndex>{0});
    gates.fails = false;
    isolation.check();
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"}) << "what failed is tried again";
}

TEST_F(IsolationTest, KeepsADeviceOpenThatAnotherEnvironmentOfTheUserHolds) {
    haveNodes(1);
    activate("100", alice);
    activate("101", alice);
    attachIndices("100", {0});
    attachIndices("101", {0}, true);
    ledger.detach("100", {0}, alice);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
    ledger.deactivate("101", alice);
    EXPECT_EQ(gates.texts(), GrantTexts{});
}

TEST_F(IsolationTest, OpensASharedDeviceToEachHolder) {
    haveNodes(1);
    activate("100", alice);
    activate("200", bob);
    attachIndices("100", {0});
    attachIndices("200", {0}, true);
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 1001", "195:0 1002"}));
    ledger.deactivate("100", alice);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1002"});
}

TEST_F(IsolationTest, NeedsNoGrantForRoot) {
    haveNodes(1);
    activate("100", 0);
    attachIndices("100", {0});
    EXPECT_EQ(gates.calls, GateCalls{});
}

// A process for which an environment lingers moves its devices to its new environment.
TEST_F(IsolationTest, NeverClosesADeviceThatTheSameUserTakesOver) {
    haveNodes(1);
    ledger.letLinger([](const core::EnvironmentRecord&) {
        return std::optional<std::vector<core::ProcessIdentity>>(std::in_place);
    });
    activate("100", alice);
    attachIndices("100", {0});
    processes.exit(100);
    processes.add(150, alice);
    const core::RootProcess user = core::adopt(processes.pin(150), alice, alice);
    ledger.concludeEnd("100", {user}, {ledger.device(0).facts.uuid});
    EXPECT_TRUE(ledger.get("100").isLingering());
    EXPECT_EQ(gates.calls, GateCalls{"+195:0 1001"}) << "a lingering environment keeps its grant";

    core::NewEnvironment wanted{"101", alice, "alice", {}, {user}, {}};
    const auto departed = ledger.departedBy(user.identity, alice, {});
    ASSERT_TRUE(departed);
    const core::Placement placement = [&] {
        const core::Supposition supposition(ledger, departed);
        return core::place({core::IndicesWanted{{0}}, std::nullopt, std::nullopt, false},
                           ledger.devices(), nullptr);
    }();
    ledger.activate(std::move(wanted), placement, alice);
    EXPECT_EQ(devicesOf("101"), std::vector<core::DeviceIndex>{0});
    EXPECT_EQ(gates.calls, GateCalls{"+195:0 1001"});
}

TEST_F(IsolationTest, AddsWhatIsMissingAtTheStartBeforeItTakesAwayWhatIsStale) {
    gates.granted = {{{195, 0}, bob}, {{195, 7}, bob}};
    activate("100", alice);
    haveGpus(2);
    attachIndices("100", {1});
    isolation.check();
    EXPECT_EQ(gates.calls, GateCalls{}) << "no driver has named the nodes yet";
    haveNodes(2);
    EXPECT_EQ(gates.calls, (GateCalls{"+195:1 1001", "-195:0 1002"}));
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:1 1001", "195:7 1002"}))
        << "a node whose device is unknown stays as it is";
}

TEST_F(IsolationTest, SharesTheNodeOfAGpuAmongItsInstances) {
    core::Observation seen = observation(2);
    seen.devices[0].nodes = {{195, 0}, {510, 1}};
    seen.devices[1].nodes = {{195, 0}, {510, 2}};
    observe(seen);
    activate("100", alice);
    attachIndices("100", {0, 1});
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 1001", "510:1 1001", "510:2 1001"}));
    ledger.detach("100", {0}, alice);
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 1001", "510:2 1001"}));
}

TEST_F(IsolationTest, OpensWhatIsConfiguredToEverybody) {
    haveNodes(2);
    settings.openDevices = {ledger.device(1).facts.uuid};
    isolation.checkAll();
    EXPECT_EQ(gates.texts(), GrantTexts{"195:1 all"});
    EXPECT_EQ(isolation.report().open, std::vector<core::DeviceIndex>{1});
    settings.openDevices = {"GPU-unknown"};
    isolation.checkAll();
    EXPECT_EQ(gates.texts(), GrantTexts{});
    EXPECT_EQ(isolation.report().trouble,
              "IsolationOpenDevices= names GPU-unknown, which this machine does not have; it opens "
              "nothing");
}

TEST_F(IsolationTest, IsNeverSaidToBeInForceWhereNoGateIs) {
    gates.why = "genv-isolation.service has not attached its program";
    haveNodes(1);
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
    EXPECT_EQ(isolation.report().trouble, gates.why);
    EXPECT_EQ(log.lines, std::vector<std::string>{
                             "isolation: genv-isolation.service has not attached its program"});
    activate("100", alice);
    attachIndices("100", {0});
    gates.why.clear();
    isolation.check();
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"}) << "what was held before is opened";
    EXPECT_EQ(emittedOf<core::IsolationChanged>().size(), 1U);
}

TEST_F(IsolationTest, OpensADeviceAlsoWhereTheGateCameSinceTheLastLook) {
    gates.why = "genv-isolation.service has not run or failed";
    haveNodes(1);
    gates.why.clear();
    activate("100", alice);
    attachIndices("100", {0});
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
}

TEST_F(IsolationTest, GrantsAllAgainToAGateThatTookThePlaceOfAnother) {
    haveNodes(1);
    activate("100", alice);
    attachIndices("100", {0});
    gates.granted.clear();
    ++gates.number;
    isolation.check();
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
}

// The kernel may refuse the holder of a device for which genvd cannot add a grant.
TEST_F(IsolationTest, GivesNoDeviceWhereAGateStandsThatItCannotChange) {
    haveNodes(1);
    gates.why = "the gate was made by another version of genv";
    gates.unusable = true;
    isolation.check();
    EXPECT_EQ(isolation.report().trouble, gates.why + "; meanwhile the kernel may refuse GPUs to "
                                                      "users who hold them");
    activate("100", alice);
    EXPECT_THROW(attachIndices("100", {0}), core::Error);
    EXPECT_EQ(devicesOf("100"), std::vector<core::DeviceIndex>{});
    settings.mode = IsolationMode::Watch;
    attachIndices("100", {0});
}

TEST_F(IsolationTest, GivesNoDeviceWhoseNodeIsUnknown) {
    core::Observation seen = observation(2);
    seen.devices[1].nodes.clear();
    observe(seen);
    activate("100", alice);
    EXPECT_THROW(attachIndices("100", {1}), core::Error);
    attachIndices("100", {0});
    EXPECT_EQ(devicesOf("100"), std::vector<core::DeviceIndex>{0});
}

TEST_F(IsolationTest, RevokesByTheNodeThatADeviceHasNow) {
    haveNodes(2);
    activate("100", alice);
    attachIndices("100", {0, 1});
    core::Observation swapped = observation(2);
    std::swap(swapped.devices[0].nodes, swapped.devices[1].nodes);
    observe(swapped);
    ledger.detach("100", {1}, alice);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:1 1001"}) << "which is GPU 0's now";
    EXPECT_EQ(isolation.deviceWith({195, 1})->index, 0U);
}

TEST_F(IsolationTest, SaysThatTheLoaderHasReadOtherSettings) {
    haveNodes(1);
    gates.inMode = core::GateMode::Watch;
    isolation.check();
    EXPECT_EQ(isolation.report().trouble,
              "the kernel's gate is in mode \"watch\": genv-isolation and genvd have read "
              "different settings");
    isolation.checkAll();
    EXPECT_EQ(isolation.report().trouble, "");
}

TEST_F(IsolationTest, TakesStaleGrantsAwayAlsoWhereTheTableIsFull) {
    gates.granted = {{{195, 0}, bob}};
    gates.isFull = true;
    activate("100", alice);
    haveGpus(1);
    attachIndices("100", {0});
    haveNodes(1);
    EXPECT_EQ(gates.texts(), GrantTexts{});
    EXPECT_EQ(isolation.report().trouble, "the kernel's table for it is full");
    gates.isFull = false;
    isolation.check();
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
}

// GPU 0 with a render node, and MIG's monitor, which the driver gives to everybody.
class NamedNodes : public IsolationTest {
  protected:
    NamedNodes() {
        seen.devices[0].pciAddress = "0000:65:00.0";
        seen.devices[1].pciAddress = "0000:66:00.0";
        seen.nodes = {{{195, 255}, "nvidiactl"},
                      {{241, 2}, "MIG monitor", true},
                      {{226, 128}, "renderD128 of GPU 0", false, "0000:65:00.0"},
                      {{226, 130}, "renderD130", false, "0000:99:00.0"}};
        activate("100", alice);
    }
    void guardRenderNodes() {
        settings.renderNodes = true;
        gates.guardsRenderNodes = true;
    }

    core::Observation seen = observation(2);
    const core::DeviceNode rendering{226, 128};
};

TEST_F(NamedNodes, ThatGiveAccessToNoDeviceAreOpenToEverybody) {
    observe(seen);
    EXPECT_EQ(gates.texts(), GrantTexts{"241:2 all"});
    EXPECT_FALSE(gates.majors.contains(226));
}

TEST_F(NamedNodes, ForRenderingStayOpenUnlessAskedFor) {
    gates.guardsRenderNodes = true;
    observe(seen);
    attachIndices("100", {0});
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 1001", "241:2 all"}));
    EXPECT_TRUE(gates.renderNodes.empty());
    EXPECT_FALSE(isolation.report().guardsRenderNodes);
}

TEST_F(NamedNodes, ForRenderingAreGrantedWithTheirGpu) {
    guardRenderNodes();
    observe(seen);
    EXPECT_EQ(gates.renderNodes, (std::set<core::DeviceNode>{rendering, {226, 130}}));
    EXPECT_TRUE(isolation.report().guardsRenderNodes);
    EXPECT_EQ(isolation.report().guarded, (std::vector<core::DeviceIndex>{0, 1}));
    attachIndices("100", {0});
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 1001", "226:128 1001", "241:2 all"}));
    attachIndices("100", {1});
    ledger.detach("100", {0}, alice);
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:1 1001", "241:2 all"}));
    EXPECT_FALSE(gates.majors.contains(226)) << "an Intel node stays open";
}

TEST_F(NamedNodes, ForRenderingAppearLaterAndGoWithTheSetting) {
    guardRenderNodes();
    const std::vector<core::DriverNode> later = std::exchange(seen.nodes, {});
    observe(seen);
    attachIndices("100", {0});
    EXPECT_TRUE(gates.renderNodes.empty());
    seen.nodes = later;
    observe(seen);
    EXPECT_TRUE(gates.renderNodes.contains(rendering));
    EXPECT_TRUE(gates.texts().contains("226:128 1001"));
    settings.renderNodes = false;
    isolation.checkAll();
    EXPECT_TRUE(gates.renderNodes.empty());
    EXPECT_FALSE(gates.texts().contains("226:128 1001"));
}

TEST_F(NamedNodes, ForRenderingAreOpenWithTheirGpu) {
    guardRenderNodes();
    settings.openDevices = {seen.devices[0].facts.uuid};
    observe(seen);
    EXPECT_EQ(gates.texts(), (GrantTexts{"195:0 all", "226:128 all", "241:2 all"}));
}

TEST_F(NamedNodes, ForRenderingThatTheLoaderDoesNotGuardAreAProblem) {
    settings.renderNodes = true;
    observe(seen);
    EXPECT_EQ(isolation.report().trouble, "the kernel guards no render nodes: genv-isolation has "
                                          "not read IsolationRenderNodes=yes");
    EXPECT_FALSE(isolation.report().guardsRenderNodes);
}

TEST_F(NamedNodes, AreNamedInPlaceOfTheirNumbers) {
    observe(seen);
    EXPECT_EQ(isolation.nameOf({241, 2}), "MIG monitor");
    EXPECT_EQ(isolation.nameOf(rendering), "renderD128 of GPU 0");
    EXPECT_EQ(isolation.nameOf({195, 255}), "nvidiactl");
    EXPECT_EQ(isolation.nameOf({195, 1}), "GPU 1") << "the driver gave no name";
    EXPECT_EQ(isolation.nameOf({241, 9}), "241:9");
    ASSERT_NE(isolation.deviceWith(rendering), nullptr);
    EXPECT_EQ(isolation.deviceWith(rendering)->index, 0U);
    EXPECT_EQ(isolation.deviceWith({241, 2}), nullptr) << "it is no GPU";
    EXPECT_EQ(isolation.deviceWith({226, 130}), nullptr);
}

TEST(SettingsOfIsolation, NameTheProcessesThatKeepAGpu) {
    core::Settings settings;
    EXPECT_EQ(core::gapOfIsolation(settings), "");
    settings.isolation.mode = IsolationMode::User;
    EXPECT_EQ(core::gapOfIsolation(settings), "");
    settings.dryRun = true;
    EXPECT_EQ(core::gapOfIsolation(settings),
              "with DryRun=yes, a process keeps every GPU that it opened while its user held it");
}

// No user can get a grant for such a device, so the gate must refuse it to nobody.
TEST_F(IsolationTest, RefusesNothingWhereTheDriverNamesNoNode) {
    gates.inMode = core::GateMode::Refuse; // as the loader left it
    isolation.check();
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    observe(gpus(2));
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
    EXPECT_EQ(gates.inMode, core::GateMode::Open);
    EXPECT_EQ(isolation.report().trouble,
              "the driver does not name the device node of any GPU, so the kernel refuses none");
    EXPECT_EQ(isolation.report().unguarded, (std::vector<core::DeviceIndex>{0, 1}));
    haveNodes(2);
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    EXPECT_EQ(isolation.report().trouble, "");
}

TEST_F(IsolationTest, SaysWhichGpuHasNoNodeThatItCanGuard) {
    core::Observation seen = observation(2);
    seen.devices[1].nodes.clear();
    observe(seen);
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    EXPECT_EQ(isolation.report().trouble,
              "the driver does not name the device node of GPU 1, so that users cannot open it "
              "even when they hold it");
    EXPECT_EQ(isolation.report().unguarded, std::vector<core::DeviceIndex>{});
    seen.devices[1].nodes = {{1, 3}};
    gates.unguardable = {1};
    observe(seen);
    EXPECT_EQ(isolation.report().trouble,
              "GPU 1 can be opened by everybody: its device node is not one of a GPU's driver");
    EXPECT_EQ(isolation.report().unguarded, std::vector<core::DeviceIndex>{1});
}

TEST_F(IsolationTest, TellsWhatTheKernelDoesWhereItTakesNoChange) {
    haveNodes(1);
    gates.fails = true;
    settings.mode = IsolationMode::None;
    isolation.checkAll();
    EXPECT_EQ(isolation.inForce(), IsolationMode::User) << "users are refused all the same";
    EXPECT_EQ(isolation.report().trouble, "the kernel takes no change");
    gates.fails = false;
    isolation.check();
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
    EXPECT_EQ(isolation.report().trouble, "");
}

TEST_F(IsolationTest, IsSuspendedByAPersonAndResumed) {
    haveNodes(1);
    isolation.suspend(true, 0);
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
    EXPECT_EQ(gates.inMode, core::GateMode::Open);
    EXPECT_TRUE(isolation.report().isSuspended);
    activate("100", alice);
    attachIndices("100", {0});
    isolation.suspend(false, bob);
    EXPECT_EQ(gates.inMode, core::GateMode::Refuse);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:0 1001"});
    const auto changes = emittedOf<core::IsolationChanged>();
    ASSERT_EQ(changes.size(), 3U);
    EXPECT_EQ(changes[1].actor, 0U);
    EXPECT_EQ(changes[2].actor, bob);
    settings.mode = IsolationMode::None;
    EXPECT_THROW(isolation.suspend(true, 0), core::Error);
}

TEST_F(IsolationTest, IsSuspendedAlsoWhereTheKernelTakesNoFurtherGrant) {
    gates.isFull = true;
    activate("100", alice);
    haveGpus(1);
    attachIndices("100", {0});
    haveNodes(1);
    EXPECT_EQ(isolation.report().trouble, "the kernel's table for it is full");
    gates.inMode = core::GateMode::Refuse;
    isolation.suspend(true, 0);
    EXPECT_EQ(gates.inMode, core::GateMode::Open);
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
}

// The loader does not know the nodes, and closes the gate when it runs again.
TEST_F(IsolationTest, OpensAGateAgainThatTheLoaderClosedWhereTheDriverNamesNoNode) {
    observe(gpus(1));
    EXPECT_EQ(gates.inMode, core::GateMode::Open);
    gates.inMode = core::GateMode::Refuse;
    isolation.check(); // notices the change
    EXPECT_EQ(isolation.inForce(), IsolationMode::User);
    isolation.check();
    EXPECT_EQ(gates.inMode, core::GateMode::Open);
    EXPECT_EQ(isolation.inForce(), IsolationMode::None);
}

TEST_F(IsolationTest, NeverGuardsADeviceOfSlurms) {
    ledger.reserve({false, {"GPU-1"}});
    haveNodes(2);
    EXPECT_EQ(gates.texts(), GrantTexts{"195:1 all"});
    gates.fails = true; // a failure must not fail a job
    EXPECT_EQ(isolation.report().open, std::vector<core::DeviceIndex>{1});
    ledger.startJob({12, alice, "alice", {"GPU-1"}});
    ledger.deactivate("slurm-12", root);
    gates.fails = false;
    EXPECT_TRUE(gates.texts().contains("195:1 all")) << "after a job as well";
    ledger.reserve({});
    isolation.checkAll();
    EXPECT_EQ(gates.texts(), GrantTexts{});
}

} // namespace
} // namespace genv::tests
