// SPDX-License-Identifier: LGPL-2.1-or-later
// The service is killed at each system call that writes or announces a change, one after the other.
// The change is complete or did not happen, and a result that was returned stays valid.
#include "tests/faults/changes.hpp"

namespace genv::tests {
namespace {

class Killed : public ChangeTest {};

TEST_F(Killed, AtEachCallOfEachChangeItHasTheOldStateOrTheNew) {
    int kills = 0;
    for (const Act& act : acts()) {
        for (const FaultAction action : {FaultAction::Kill, FaultAction::HalfWrite}) {
            bool died = true;
            for (std::uint32_t point = 1; died; ++point) {
                SCOPED_TRACE(std::string(act.name) + ", call " + std::to_string(point));
                UserProcess shell(alice);
                const std::string id = nextId();
                const std::string before = prepare(act, id, shell);
                // Replies and signals are also possible points: a change may be complete and not
                // yet announced.
                injector.arm(action == FaultAction::Kill ? storeCalls | sendCalls : storeCalls,
                             action, point);
                const auto call = act.start(id, shell);
                finishOrEnd(*asAlice, *call);
                died = wasKilled();
                const Answer& answer = asAlice->finish(*call);
                if (died) {
                    ++kills;
                    service.start();
                }
                // The first sample of the GPUs decides about an end that was written to the
                // document.
                waitUntil([&] { return act.isDone(id) || describe(id) == before; },
                          "the old state or the new");
                if (answer.ok()) {
                    EXPECT_TRUE(act.isDone(id)) << "it was answered";
                }
                ASSERT_EQ(describe(his), hisState);
                const auto held = holders();
                EXPECT_EQ(static_cast<std::size_t>(
                              std::count_if(held.begin(), held.end(),
                                            [&](const auto& entry) { return entry.second == id; })),
                          describe(id).empty() ? 0U : count(devicesOf(id)));
                std::set<std::string> living{his};
                if (!describe(id).empty())
                    living.insert(id);
                expectShellFilesFor(living);
                EXPECT_FALSE(shell.hasEnded() || bobs.hasEnded() || other.hasEnded());
                if (!describe(id).empty()) {
                    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
                }
                awaitOnlyBobs();
            }
        }
    }
    EXPECT_GT(kills, 50) << "the calls are not caught any more";
    std::printf("killed at %d calls\n", kills);
}

TEST_F(Killed, AtEachCallAfterAProcessEndedTheEnvironmentIsOver) {
    for (std::uint32_t point = 1;; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        UserProcess shell(alice);
        const std::string id = activate(*asAlice, shell, 2);
        injector.arm(storeCalls | sendCalls, FaultAction::Kill, point);
        shell.kill(SIGKILL);
        // The exit reaches the service at any time, so this checks whenever the processor is free.
        waitUntil(
            [&] {
                turn();
                return injector.fired() > 0 || environmentCount() == "1";
            },
            "the end of the environment or of the service");
        const bool died = wasKilled();
        if (died)
            service.start();
        awaitOnlyBobs();
        EXPECT_EQ(holders().size(), 1U);
        ASSERT_EQ(describe(his), hisState);
        expectShellFilesFor({his});
        if (!died)
            break;
        ASSERT_LT(point, 100U);
    }
}

// Devices that one user releases are granted to the waiting user: two documents, two answers, one
// device.
TEST_F(Killed, AtEachCallOfAGrantTheDeviceIsTheOldHoldersTheNewOnesOrFree) {
    for (std::uint32_t point = 1;; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        UserProcess shell(alice);
        const std::string id = activate(*asAlice, shell);
        const auto waiting = asAlice->start(environmentPath(id), environmentInterface, "Attach",
                                            "a{sv}", 2, "index", "u", 0U, "wait", "b", 1);
        waitUntil([&] { return waitingIn(*asRoot) == std::vector{id}; }, "alice to wait");
        injector.arm(storeCalls | sendCalls, FaultAction::Kill, point);
        const auto detach =
            asBob->start(environmentPath(his), environmentInterface, "Detach", "au", 0);
        finishOrEnd(*asBob, *detach);
        finishOrEnd(*asAlice, *waiting);
        const bool died = wasKilled();
        if (died)
            service.start();
        const auto held = holders();
        if (asBob->finish(*detach).ok()) {
            EXPECT_EQ(devicesOf(his), "");
        }
        if (asAlice->finish(*waiting).ok()) {
            EXPECT_EQ(devicesOf(id), "0");
        }
        EXPECT_EQ(held.size(), held.count(0));
        expectShellFilesFor({his, id});
        EXPECT_FALSE(shell.hasEnded() || bobs.hasEnded());
        shell.kill(SIGKILL);
        awaitOnlyBobs();
        EXPECT_TRUE(asBob->environment(his, "Attach", "a{sv}", 1, "index", "u", 0U).ok());
        if (!died)
            break;
        ASSERT_LT(point, 100U);
    }
}

TEST_F(Killed, AtEachCallOfItsStartItStartsTheNextTimeAsIfNothingHadBeen) {
    UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    const std::string before = describe(id);
    const auto held = holders();
    int kills = 0;
    for (std::uint32_t point = 1;; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        UserProcess gone(alice);
        activate(*asAlice, gone, 1);
        service.end(SIGKILL);
        gone.kill(SIGKILL);
        gone.wait();
        const std::filesystem::path folder = Service::stateFolder();
        for (const char* name : {"_41.json", "_42.json", "stray"})
            std::ofstream(folder / name) << "{\"version\":1,";
        std::ofstream(folder / "_43.json.new") << "half";
        std::filesystem::remove_all(folder.parent_path() / "broken");
        injector.arm(storeCalls, FaultAction::Kill, point);
        bool died = false;
        try {
            service.start();
            // The first sample of the GPUs decides about environments that ended meanwhile.
            waitUntil([&] { return service.hasEnded() || environmentCount() == "2"; },
                      "the end of the one that is gone");
            died = wasKilled();
        } catch (const std::runtime_error&) {
            died = true;
        }
        injector.disarm();
        if (died) {
            ++kills;
            service.start();
        }
        waitUntil([&] { return environmentCount() == "2"; }, "the end of the one that is gone");
        ASSERT_EQ(describe(id), before);
        ASSERT_EQ(describe(his), hisState);
        EXPECT_EQ(holders(), held);
        expectShellFilesFor({his, id});
        std::set<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            files.insert(entry.path().filename());
        EXPECT_EQ(files.size(), 2U) << "what is broken is out of the way";
        EXPECT_TRUE(std::filesystem::exists(folder.parent_path() / "broken" / "_41.json"));
        EXPECT_FALSE(std::filesystem::exists(folder.parent_path() / "broken" / "_43.json.new"))
            << "half a write is no document of anybody's";
        EXPECT_FALSE(shell.hasEnded() || bobs.hasEnded());
        if (!died)
            break;
    }
    EXPECT_GT(kills, 5);
}

} // namespace
} // namespace genv::tests
