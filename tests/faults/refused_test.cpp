// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernel refuses the system calls that write a change. A request then changes nothing and
// succeeds the next time. A fact applies at once and is written later.
#include "tests/faults/changes.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace genv::tests {
namespace {

constexpr std::array<int, 7> refusals{ENOSPC, EIO, EDQUOT, EMFILE, ENFILE, EROFS, ENOMEM};

class Refused : public ChangeTest {};

TEST_F(Refused, AtEachCallOfEachRequestItChangesNothingAndWorksTheNextTime) {
    int refused = 0;
    for (const Act& act : acts()) {
        for (const int error : refusals) {
            bool reached = true;
            for (std::uint32_t point = 1; reached; ++point) {
                SCOPED_TRACE(std::string(act.name) + ", call " + std::to_string(point) + ": " +
                             std::strerror(error));
                UserProcess shell(alice);
                const std::string id = nextId();
                const std::string before = prepare(act, id, shell);
                injector.arm(storeCalls, FaultAction::Fail, point, error);
                auto call = act.start(id, shell);
                const Answer answer = asAlice->finish(*call);
                reached = injector.fired() > 0;
                injector.disarm();
                if (answer.ok()) {
                    EXPECT_TRUE(act.isDone(id));
                    if (reached && (error == refusals.front() || isFull())) {
                        const std::string after = describe(id);
                        service.restart(SIGKILL);
                        EXPECT_EQ(describe(id), after) << "what was answered is written";
                    }
                } else {
                    ++refused;
                    EXPECT_EQ(answer.error, "org.freedesktop.DBus.Error.IOError") << answer.text;
                    EXPECT_NE(answer.text.find(std::strerror(error)), std::string::npos);
                    EXPECT_EQ(describe(id), before);
                    call = act.start(id, shell);
                    EXPECT_TRUE(asAlice->finish(*call).ok()) << "now that it can be written";
                    EXPECT_TRUE(act.isDone(id));
                }
                ASSERT_EQ(describe(his), hisState);
                shell.kill(SIGKILL);
                if (std::string(act.name) == "AddProcess") {
                    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
                }
                awaitOnlyBobs();
            }
        }
    }
    EXPECT_GT(refused, 60) << "the calls are not caught any more";
    std::printf("%d requests refused\n", refused);
    service.restart(SIGKILL);
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(describe(his), hisState);
}

// After a write that takes only half of its data, the service writes the rest.
TEST_F(Refused, AtNoWriteThatTakesHalf) {
    int halves = 0;
    for (const Act& act : acts()) {
        bool reached = true;
        for (std::uint32_t point = 1; reached; ++point) {
            SCOPED_TRACE(std::string(act.name) + ", write " + std::to_string(point));
            UserProcess shell(alice);
            const std::string id = nextId();
            prepare(act, id, shell);
            injector.arm(shortWrites, FaultAction::Fail, point);
            const auto call = act.start(id, shell);
            EXPECT_TRUE(asAlice->finish(*call).ok());
            turn();
            reached = injector.fired() > 0;
            injector.disarm();
            halves += reached ? 1 : 0;
            const std::string after = describe(id);
            std::set<std::string> living{his};
            if (!after.empty()) {
                living.insert(id);
                waitUntil(
                    [&] { return shellFile(id) == (devicesOf(id).empty() ? "-1" : devicesOf(id)); },
                    "the shell's file");
            }
            expectShellFilesFor(living);
            service.restart(SIGKILL);
            EXPECT_EQ(describe(id), after);
            EXPECT_EQ(describe(his), hisState);
            if (!after.empty()) {
                EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
            }
            awaitOnlyBobs();
        }
    }
    EXPECT_GT(halves, 8) << "the writes are not caught any more";
}

// Every write fails: facts apply at once, and are written when writes succeed again.
TEST_F(Refused, FactsApplyAtOnceAndAreWrittenAsSoonAsThatWorks) {
    for (const int error : refusals) {
        SCOPED_TRACE(std::strerror(error));
        UserProcess shell(alice);
        UserProcess second(alice);
        const std::string id = activate(*asAlice, shell, 2);
        const std::string keeps = activate(*asAlice, second, 1);
        ASSERT_TRUE(asRoot->environment(keeps, "AddProcess", "u", other.pid()).ok());
        injector.arm(storeCalls, FaultAction::Fail, 1, error, 0);
        shell.kill(SIGKILL);
        second.kill(SIGKILL);
        waitUntil([&] { return environmentCount() == "2"; }, "the environment to end");
        EXPECT_EQ(holders().size(), 2U);
        EXPECT_EQ(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 2U).error,
                  "org.freedesktop.DBus.Error.IOError");
        EXPECT_EQ(describe(his), hisState);
        injector.disarm();
        const std::filesystem::path document =
            Service::stateFolder() /
            (std::filesystem::path(environmentPath(id)).filename().string() + ".json");
        waitUntil([&] { return !std::filesystem::exists(document); }, "the document to go");
        waitUntil([&] { return shellFile(id).empty(); }, "the shell's file to go");
        service.restart(SIGKILL);
        expectShellFilesFor({his, keeps});
        EXPECT_TRUE(asAlice->environment(keeps, "Deactivate").ok());
    }
}

// A shell learns of a change even if its file could not be written at the time of the change.
TEST_F(Refused, ShellsAreToldOnceTheirFilesCanBeWritten) {
    // This must not depend on a sample of the GPUs, which would also trigger it.
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[Enforcement]\nInterval=1h\n";
    service.restart(SIGTERM);
    UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    std::uint32_t point = 1;
    for (bool isUpdated = true; isUpdated; ++point) {
        ASSERT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
        waitUntil([&] { return shellFile(id) == devicesOf(id); }, "the shell's file");
        injector.arm(storeCalls, FaultAction::Fail, point, ENOSPC, 0);
        const bool written = asRoot->environment(id, "Detach", "au", 0).ok();
        isUpdated = !written || shellFile(id) == "-1";
        injector.disarm();
        if (written) {
            waitUntil([&] { return shellFile(id) == "-1"; }, "the shell's file");
        }
        ASSERT_LT(point, 20U) << "no write of a shell's file failed";
    }
}

// An environment ended while the service was down, and its file cannot be removed at the start.
TEST_F(Refused, WhatAStartCannotWriteIsWrittenAsSoonAsThatWorks) {
    // A sample of the GPUs would also trigger it.
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[Enforcement]\nInterval=1h\n";
    service.restart(SIGTERM);
    int started = 0;
    bool reached = true;
    for (std::uint32_t point = 1; reached; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        UserProcess shell(alice);
        activate(*asAlice, shell, 2);
        service.end(SIGKILL);
        shell.kill(SIGKILL);
        shell.wait();
        injector.arm(storeCalls, FaultAction::Fail, point, EIO, 0);
        try {
            service.start();
            ++started;
        } catch (const std::runtime_error&) {
            EXPECT_GT(injector.fired(), 0U);
        }
        reached = injector.fired() > 0;
        injector.disarm();
        if (!service.isRunning())
            service.start();
        waitUntil([&] { return environmentCount() == "1"; }, "hers to end");
        const auto filesIn = [](const std::filesystem::path& folder) {
            return std::distance(std::filesystem::directory_iterator(folder),
                                 std::filesystem::directory_iterator());
        };
        waitUntil([&] { return filesIn(Service::stateFolder()) == 1; }, "the document to go");
        waitUntil([&] { return filesIn(Service::stateFolder().parent_path() / "shell") == 1; },
                  "the shell's file to go");
        expectShellFilesFor({his});
        ASSERT_EQ(describe(his), hisState);
    }
    EXPECT_GT(started, 1) << "no start goes on without what it writes";
}

} // namespace
} // namespace genv::tests
