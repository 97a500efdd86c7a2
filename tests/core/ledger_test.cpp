// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests to the ledger, facts that it records, and its promises about both.
#include "core/settings/caps.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using Indices = std::vector<core::DeviceIndex>;

class Ledger : public LedgerTest {};

TEST_F(Ledger, StartsAnEnvironmentWithItsDevicesInOneChange) {
    haveGpus(2);
    core::EnvironmentConfiguration configuration{"Yesterday", 2, std::nullopt};
    const auto placement =
        core::place({core::CountWanted{2}, {}, {}, false}, ledger.devices(), nullptr);
    ledger.activate(newEnvironment("10", alice, 10, configuration), placement, alice);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
    const core::EnvironmentRecord stored = core::decodeState(store.documents.at("10"));
    EXPECT_EQ(stored.deviceIndices(), (Indices{0, 1}));
    EXPECT_EQ(stored.configuration, configuration);
}

TEST_F(Ledger, RefusesAnIdThatExists) {
    activate("10", alice);
    EXPECT_EQ(codeOf([&] { ledger.activate(newEnvironment("10", bob, 11), std::nullopt, bob); }),
              ErrorCode::AlreadyExists);
    EXPECT_EQ(ledger.get("10").uid, alice);
}

TEST_F(Ledger, FindsAFreeIdForAPid) {
    EXPECT_EQ(ledger.freeId(10), "10");
    activate("10", alice);
    EXPECT_EQ(ledger.freeId(10), "10-2");
    ledger.activate(newEnvironment("10-2", alice, 11), std::nullopt, alice);
    EXPECT_EQ(ledger.freeId(10), "10-3");
}

TEST_F(Ledger, KeepsAProcessInOneEnvironment) {
    activate("10", alice);
    activate("20", alice);
    const core::RootProcess shell = core::adopt(processes.pin(10), alice, alice);
    EXPECT_EQ(codeOf([&] { ledger.addProcess("20", shell, alice); }), ErrorCode::AlreadyExists);
    ledger.addProcess("10", shell, alice);
    EXPECT_EQ(ledger.get("10").processes.size(), 1U) << "adding it again has no effect";
}

TEST_F(Ledger, TakesNoKernelThreadWhoeverAsks) {
    processes.add(9, root)->facts.isKernelThread = true;
    processes.add(10, root);
    EXPECT_EQ(codeOf([&] { core::adopt(processes.pin(9), root, root); }), ErrorCode::InvalidArgs);
    EXPECT_EQ(core::adopt(processes.pin(10), root, root).identity.pid, 10U);
}

TEST_F(Ledger, EndsWithItsLastProcessAndFreesTheDevicesAtOnce) {
    haveGpus(1);
    activate("10", alice);
    processes.add(11, alice);
    ledger.addProcess("10", core::adopt(processes.pin(11), alice, alice), alice);
    attachCount("10", 1);
    processes.exit(10);
    EXPECT_NE(ledger.find("10"), nullptr);
    emitted.clear();
    processes.exit(11);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_TRUE(ledger.device(0).holders.empty());
    EXPECT_FALSE(store.documents.contains("10"));
    ASSERT_EQ(emittedOf<core::Detached>().size(), 1U);
    EXPECT_EQ(emittedOf<core::Detached>()[0].cause.reason, core::Reason::processExit());
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().size(), 1U);
}

TEST_F(Ledger, LivesOnAJupyterKernelAlone) {
    processes.add(10, alice);
    core::NewEnvironment wanted{"10", alice, "alice", {}, {}, {}};
    wanted.jupyterKernels.push_back({"abc", core::adopt(processes.pin(10), alice, alice)});
    ledger.activate(std::move(wanted), std::nullopt, alice);
    EXPECT_EQ(codeOf([&] { ledger.removeJupyterKernel("10", "xyz", alice); }),
              ErrorCode::NoSuchProcess);
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Ledger, EndsWhenItsLastProcessIsRemoved) {
    activate("10", alice);
    EXPECT_EQ(codeOf([&] { ledger.removeProcess("10", 99, alice); }), ErrorCode::NoSuchProcess);
    ledger.removeProcess("10", 10, alice);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Ledger, EndsAtOnceWhenAnAdministratorRemovesItsLastProcess) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    ledger.removeProcess("10", 10, root);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_TRUE(ledger.device(0).isFree());
}

TEST_F(Ledger, DoesNotMistakeARecycledPidForItsProcess) {
    activate("10", alice);
    EXPECT_EQ(ledger.environmentOfRoot({10, 7})->id, "10");
    EXPECT_EQ(ledger.environmentOfRoot({10, 8}), nullptr);
    ledger.processExited({10, 8});
    EXPECT_NE(ledger.find("10"), nullptr);
}

TEST_F(Ledger, DetachesWhatIsNamedOrAll) {
    haveGpus(3);
    activate("10", alice);
    attachCount("10", 3);
    ledger.detach("10", {1}, alice);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 2}));
    EXPECT_EQ(codeOf([&] { ledger.detach("10", {0, 1}, alice); }), ErrorCode::NotAttached);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 2})) << "all or nothing";
    EXPECT_EQ(codeOf([&] { ledger.detach("10", {9, 9}, alice); }), ErrorCode::NotAttached);
    ledger.detach("10", {0, 0}, alice);
    ledger.detach("10", {}, alice);
    EXPECT_EQ(devicesOf("10"), Indices{});
    ledger.detach("10", {}, alice);
    EXPECT_EQ(codeOf([&] { ledger.detach("99", {}, alice); }), ErrorCode::NoSuchEnvironment);
}

TEST_F(Ledger, TakesADeviceFromOneOrFromAll) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    activate("30", bob);
    for (const char* id : {"10", "20"})
        attachCount(id, 1, gigabytes(1));
    EXPECT_EQ(codeOf([&] { ledger.detachDevice(0, "30", root); }), ErrorCode::NotAttached);
    EXPECT_EQ(codeOf([&] { ledger.detachDevice(7, std::nullopt, root); }), ErrorCode::NoSuchDevice);
    ledger.detachDevice(0, "10", root);
    EXPECT_EQ(ledger.device(0).holders.size(), 1U);
    ledger.detachDevice(0, std::nullopt, root);
    EXPECT_TRUE(ledger.device(0).holders.empty());
    EXPECT_EQ(emittedOf<core::Detached>().back().cause.reason, core::Reason::admin());
}

TEST_F(Ledger, ConfiguresAndUnsets) {
    activate("10", alice);
    ledger.configure("10", {"Norwegian Wood", 2, gigabytes(4)}, alice);
    EXPECT_EQ(ledger.get("10").configuration,
              (core::EnvironmentConfiguration{"Norwegian Wood", 2, gigabytes(4)}));
    core::EnvironmentConfigurationChange change;
    change.gpus.emplace();
    emitted.clear();
    ledger.configure("10", change, alice);
    EXPECT_EQ(ledger.get("10").configuration,
              (core::EnvironmentConfiguration{"Norwegian Wood", std::nullopt, gigabytes(4)}));
    ASSERT_EQ(emitted.size(), 1U);
    EXPECT_EQ(emittedOf<core::EnvironmentChanged>()[0].field, core::EnvironmentField::Gpus);
    ledger.configure("10", change, alice);
    EXPECT_EQ(emitted.size(), 1U) << "no change, no event";
}

TEST_F(Ledger, CapsWhatAUserMayHaveButNotRoot) {
    for (std::size_t i = 0; i < core::caps::environmentsPerUser; ++i)
        activate(std::to_string(100 + i), alice);
    EXPECT_EQ(codeOf([&] { activate("99", alice); }), ErrorCode::LimitsExceeded);
    activate("98", bob);
    ledger.activate(newEnvironment("97", alice, 97), std::nullopt, root);
    ledger.deactivate("100", alice);
    ledger.deactivate("101", alice);
    activate("96", alice);

    for (core::Pid pid = 1000; pid < 1000 + core::caps::processesPerUser - 1; ++pid) {
        processes.add(pid, bob);
        ledger.addProcess("98", core::adopt(processes.pin(pid), bob, bob), bob);
    }
    processes.add(5000, bob);
    EXPECT_EQ(
        codeOf([&] { ledger.addProcess("98", core::adopt(processes.pin(5000), bob, bob), bob); }),
        ErrorCode::LimitsExceeded);
}

TEST_F(Ledger, RefusesWhatCannotBeWrittenAndChangesNothing) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 1);
    const core::EnvironmentRecord before = ledger.get("10");
    emitted.clear();
    store.writesUntilFailure = 0;
    const auto refused = [&](const std::function<void()>& request) {
        EXPECT_EQ(codeOf(request), ErrorCode::StorageFailed);
        EXPECT_EQ(ledger.get("10"), before);
        EXPECT_TRUE(emitted.empty());
    };
    refused([&] { attachCount("10", 2); });
    refused([&] { ledger.detach("10", {}, alice); });
    refused([&] { ledger.detachDevice(0, std::nullopt, root); });
    refused([&] { ledger.configure("10", {"x", std::nullopt, std::nullopt}, alice); });
    refused([&] { ledger.removeProcess("10", 10, alice); });
    refused([&] { ledger.deactivate("10", alice); });
    refused([&] { activate("20", bob); });
    EXPECT_EQ(ledger.find("20"), nullptr);
    EXPECT_EQ(ledger.device(0).holders.size(), 1U);
}

TEST_F(Ledger, TakesAChangeOfSeveralEnvironmentsBackWhenOneCannotBeWritten) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    for (const char* id : {"10", "20"})
        attachCount(id, 1, gigabytes(1));
    const auto documents = store.documents;
    store.writesUntilFailure = 1;
    store.maxFailures = 1;
    EXPECT_EQ(codeOf([&] { ledger.detachDevice(0, std::nullopt, root); }),
              ErrorCode::StorageFailed);
    EXPECT_EQ(ledger.device(0).holders.size(), 2U);
    EXPECT_EQ(store.documents, documents) << "what was written is written back";
}

TEST_F(Ledger, AppliesFactsAtOnceAndWritesThemLater) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    int unwritten = 0;
    ledger.onUnwritten([&](const std::string&) { ++unwritten; });
    store.writesUntilFailure = 0;
    processes.exit(10);
    EXPECT_EQ(ledger.find("10"), nullptr) << "its devices are free whatever the disk does";
    EXPECT_TRUE(ledger.device(0).holders.empty());
    EXPECT_EQ(unwritten, 1);
    EXPECT_FALSE(ledger.retryWrites());
    store.writesUntilFailure = -1;
    EXPECT_TRUE(ledger.retryWrites());
    EXPECT_FALSE(store.documents.contains("10"));
}

TEST_F(Ledger, SaysWhoDidIt) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 2);
    ledger.detach("10", {0}, alice);
    ledger.detach("10", {1}, root);
    const auto detached = emittedOf<core::Detached>();
    ASSERT_EQ(detached.size(), 2U);
    EXPECT_EQ(detached[0].cause.reason.text(), "user");
    EXPECT_EQ(detached[1].cause.reason.text(), "admin");
    EXPECT_EQ(detached[1].cause.actor, root);
    EXPECT_EQ(detached[1].owner, alice);
}

TEST_F(Ledger, RefusesAProcessOfSomebodyElse) {
    processes.add(10, bob);
    EXPECT_EQ(codeOf([&] { core::adopt(processes.pin(10), alice, alice); }),
              ErrorCode::AccessDenied);
    EXPECT_NO_THROW(core::adopt(processes.pin(10), alice, root)) << "root may register any";
    const auto mixed = processes.add(11, alice);
    mixed->facts.uids.saved = 0;
    EXPECT_EQ(codeOf([&] { core::adopt(processes.pin(11), alice, alice); }),
              ErrorCode::AccessDenied)
        << "a process that can become root again is not alice's";
    processes.add(1, root);
    EXPECT_EQ(codeOf([&] { core::adopt(processes.pin(1), root, root); }), ErrorCode::InvalidArgs);
    processes.add(12, alice);
    const auto pin = processes.pin(12);
    processes.exit(12);
    EXPECT_EQ(codeOf([&] { core::adopt(pin, alice, alice); }), ErrorCode::NoSuchProcess);
}

TEST_F(Ledger, ChecksTheUidsBehindThePin) {
    const auto process = processes.add(10, alice);
    const auto pin = processes.pin(10);
    process->facts.uids = {0, 0, 0, 0};
    EXPECT_EQ(codeOf([&] { core::adopt(pin, alice, alice); }), ErrorCode::AccessDenied)
        << "it was alice's when it was pinned and is root's now";
}

TEST_F(Ledger, TakesAJupyterKernelInAndLetsItGo) {
    haveGpus(2);
    activate("10", alice, {{}, 1, {}});
    processes.add(11, alice);
    const core::JupyterKernel jupyterKernel{"abc", core::adopt(processes.pin(11), alice, alice)};
    emitted.clear();
    ledger.addJupyterKernel("10", jupyterKernel, alice,
                            planned("10", {core::CountWanted{1}, {}, {}, false}));
    EXPECT_EQ(ledger.get("10").jupyterKernels, std::vector<core::JupyterKernel>{jupyterKernel});
    EXPECT_EQ(devicesOf("10"), Indices{0}) << "what was asked for with it";
    ASSERT_EQ(emittedOf<core::EnvironmentChanged>().size(), 3U);
    EXPECT_EQ(emittedOf<core::EnvironmentChanged>()[0].field,
              core::EnvironmentField::JupyterKernels);
    EXPECT_EQ(emittedOf<core::EnvironmentChanged>()[2].field, core::EnvironmentField::Attached);
    EXPECT_EQ(ledger.environmentOfRoot({11, 7})->id, "10");

    emitted.clear();
    ledger.addJupyterKernel("10", jupyterKernel, alice);
    EXPECT_TRUE(emitted.empty()) << "it is there already";
    ledger.removeProcess("10", 10, alice);
    EXPECT_NE(ledger.find("10"), nullptr) << "the kernel keeps it alive";
    ledger.removeJupyterKernel("10", "abc", alice);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Ledger, JoinsWithWhatTheJoiningRequestWaitsFor) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    processes.add(21, bob);
    const auto plan = core::placeOrWait({core::CountWanted{1}, {}, {}, false}, ledger.devices(),
                                        ledger.find("20"), {});
    ASSERT_TRUE(std::holds_alternative<core::PlannedWait>(plan));
    ledger.addProcess("20", core::adopt(processes.pin(21), bob, bob), bob, plan);
    EXPECT_EQ(ledger.get("20").processes.size(), 2U);
    ASSERT_EQ(ledger.get("20").waits.size(), 1U);
    EXPECT_FALSE(ledger.get("20").waits[0].startsEnvironment);
    EXPECT_EQ(emittedOf<core::WaitStarted>().size(), 1U);
}

TEST_F(Ledger, RefusesAPlacementThatIsNoLongerSo) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    const core::Placement one = planned("10", {core::IndicesWanted{{0}}, {}, {}, false});
    attachIndices("20", {0});
    EXPECT_EQ(codeOf([&] { ledger.attach("10", one, alice); }), ErrorCode::DeviceUnavailable)
        << "somebody else has it by now";

    const core::Placement two = planned("10", {core::IndicesWanted{{1}}, {}, {}, false});
    haveGpus(1);
    EXPECT_EQ(codeOf([&] { ledger.attach("10", two, alice); }), ErrorCode::DeviceUnavailable)
        << "the device is gone";
    haveGpus(2);
    core::Observation other = gpus(2);
    other.devices[1].facts.totalMemory = gigabytes(8);
    ledger.observed(other);
    EXPECT_EQ(codeOf([&] { ledger.attach("10", two, alice); }), ErrorCode::DeviceUnavailable)
        << "the device is not what was looked at";
    EXPECT_EQ(devicesOf("10"), Indices{});
}

TEST_F(Ledger, LocksNothingOfAnEnvironmentWithoutDevices) {
    activate("10", alice);
    EXPECT_EQ(codeOf([&] { ledger.lock("10", ledger.newTicket()); }), ErrorCode::NotAttached);
    EXPECT_TRUE(ledger.locks().empty());
}

TEST_F(Ledger, TellsWhenItsStateIsUnwrittenAndWritesItLater) {
    std::string unwritten;
    ledger.onUnwritten([&](const std::string& why) { unwritten = why; });
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    attachIndices("20", {0}, true);
    // The document of the first environment is written. The second cannot be written, nor can the
    // first be restored.
    store.writesUntilFailure = 1;
    EXPECT_EQ(codeOf([&] { ledger.detachDevice(0, std::nullopt, root); }),
              ErrorCode::StorageFailed);
    EXPECT_EQ(unwritten, "no space left");
    EXPECT_EQ(devicesOf("10"), Indices{0});
    EXPECT_EQ(devicesOf("20"), Indices{0});
    store.writesUntilFailure = -1;
    EXPECT_TRUE(ledger.retryWrites());
    EXPECT_NE(store.documents.at("10").find("GPU-0"), std::string::npos)
        << "nothing of the refused request stays on disk";
}

} // namespace
} // namespace genv::tests
