// SPDX-License-Identifier: LGPL-2.1-or-later
// The service runs out of descriptors, of space in systemd's descriptor store, and of memory. It
// refuses requests, or ends and restarts. Users keep their devices.
#include "core/base/glibc_pidfd.hpp"
#include "tests/bus/support/descriptor_store.hpp"
#include "tests/faults/fixture.hpp"

#include <sys/resource.h>

#include <array>
#include <deque>

namespace genv::tests {
namespace {

class Exhausted : public FaultTest {
  protected:
    Exhausted() : FaultTest(4) {}

    [[nodiscard]] std::size_t descriptors() const {
        const std::string folder = "/proc/" + std::to_string(service.pid()) + "/fd";
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                      std::filesystem::directory_iterator()));
    }
    /// Sets only the soft limit; the hard limit stays.
    void limitDescriptors(rlim_t max) const {
        rlimit limit{};
        ASSERT_EQ(::prlimit(service.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
        limit.rlim_cur = std::min(max, limit.rlim_max);
        ASSERT_EQ(::prlimit(service.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
    }

    /// Leaves no free descriptor. The limit applies to descriptor numbers. The service has the low
    /// ones from its start on, so the descriptors that its threads have open now do not matter. The
    /// loop polls fewer descriptors than the limit, as poll(2) requires.
    void leaveNone() const { limitDescriptors(descriptors() / 2); }

    UserProcess alices{alice};
    const std::string hers = activate(*asAlice, alices, 1);
};

TEST_F(Exhausted, DescriptorsRefuseWhatNeedsOneAndServeTheRest) {
    const std::string before = describe(hers);
    limitDescriptors(descriptors() + 30);
    std::deque<UserProcess> processes;
    const auto activateLast = [&] {
        return asRoot->manager("Activate", "a{sv}", 2, "pid", "u", processes.back().pid(), "uid",
                               "u", bob);
    };
    // A thread of the service that opens a file may use the last descriptor for a moment. The
    // service counts as full once it has refused for a while, because of the process or of the
    // document.
    std::size_t made = 0;
    int refusals = 0;
    processes.emplace_back(bob);
    while (refusals < 20 && processes.size() < 100) {
        const Answer answer = activateLast();
        if (answer.ok()) {
            ++made;
            refusals = 0;
            processes.emplace_back(bob);
        } else {
            ++refusals;
            ASSERT_TRUE(answer.error == error::limitsExceeded ||
                        answer.error == "org.freedesktop.DBus.Error.IOError")
                << answer.error << ": " << answer.text;
        }
    }
    // Without the very last descriptor, the service cannot pin a process.
    const std::size_t max = descriptors() + 1;
    leaveNone();
    const Answer refusal = activateLast();
    EXPECT_EQ(refusal.error, error::limitsExceeded);
    EXPECT_NE(refusal.text.find("try again later"), std::string::npos) << refusal.text;
    EXPECT_GT(made, 10U);
    EXPECT_EQ(describe(hers), before);
    EXPECT_TRUE(asAlice->manager("ListDevices").ok());
    const auto environments = std::to_string(made + 1);
    EXPECT_EQ(environmentCount(), environments);
    // One environment ends, and there is a free descriptor again.
    limitDescriptors(max);
    processes.front().kill(SIGKILL);
    waitUntil([&] { return environmentCount() == std::to_string(made); }, "one to end");
    waitUntil([&] { return activateLast().ok(); }, "room for another");
    service.restart(SIGKILL);
    EXPECT_EQ(environmentCount(), environments);
    EXPECT_EQ(describe(hers), before);
}

// The soft limit is low by default, for programs that use select(2).
TEST_F(Exhausted, DescriptorsAreLimitedOnlyByTheHardLimit) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{before.rlim_max / 2, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    service.restart(SIGTERM);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit limit{};
    ASSERT_EQ(::prlimit(service.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, before.rlim_max);
    EXPECT_EQ(limit.rlim_max, before.rlim_max);
}

// A lock needs several descriptors: one for its document, two for its pipe, and those in the
// answer.
TEST_F(Exhausted, DescriptorsRefuseALockAtEachThatItNeedsAndLeaveItFree) {
    const auto isLocked = [&] {
        return !asRoot->property(devicePath(0), deviceInterface, "LockedBy").empty();
    };
    std::set<std::string> errors;
    bool reached = true;
    for (std::uint32_t point = 1; reached; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        injector.arm(openCalls, FaultAction::Fail, point, EMFILE);
        const Answer refusal = asAlice->environment(hers, "Lock");
        reached = injector.fired() > 0;
        injector.disarm();
        if (!refusal.ok()) {
            errors.insert(refusal.error);
            EXPECT_TRUE(refusal.text.ends_with("try again later") ||
                        refusal.text.ends_with("nothing was changed"))
                << refusal.text;
            waitUntil([&] { return !isLocked(); }, "the refused lock to be free");
        }
    }
    EXPECT_EQ(errors,
              (std::set<std::string>{error::limitsExceeded, "org.freedesktop.DBus.Error.IOError"}));
    EXPECT_TRUE(asAlice->environment(hers, "Lock").ok());
    EXPECT_EQ(environmentCount(), "1");
}

// sdbus-c++ duplicates a descriptor when it reads the descriptor from an option.
TEST_F(Exhausted, DescriptorsRefuseAnActivationAtEachThatItNeedsAndChangeNothing) {
    const std::string before = describe(hers);
    std::set<std::string> errors;
    bool reached = true;
    for (std::uint32_t point = 1; reached; ++point) {
        SCOPED_TRACE("call " + std::to_string(point));
        const UserProcess bobs(bob);
        const int pidfd = ::pidfd_open(static_cast<pid_t>(bobs.pid()), 0);
        ASSERT_GE(pidfd, 0);
        injector.arm(openCalls, FaultAction::Fail, point, EMFILE);
        const Answer answer = asBob->manager("Activate", "a{sv}", 1, "process", "h", pidfd);
        reached = injector.fired() > 0;
        injector.disarm();
        ::close(pidfd);
        // sdbus-c++ itself refuses a call that it cannot read.
        if (!answer.ok() && answer.error != "System.Error.EMFILE") {
            errors.insert(answer.error);
            EXPECT_TRUE(answer.text.ends_with("try again later") ||
                        answer.text.ends_with("nothing was changed"))
                << answer.text;
        }
    }
    EXPECT_EQ(errors,
              (std::set<std::string>{error::limitsExceeded, "org.freedesktop.DBus.Error.IOError"}));
    EXPECT_EQ(describe(hers), before);
    waitUntil([&] { return environmentCount() == "1"; }, "the end of what was activated");
}

// If there is no room for a descriptor that a caller passes, sd-bus closes the connection.
TEST_F(Exhausted, DescriptorsThatAreGivenToItWithoutRoomLoseNothing) {
    const std::string before = describe(hers);
    const UserProcess bobs(bob);
    const int pidfd = ::pidfd_open(static_cast<pid_t>(bobs.pid()), 0);
    ASSERT_GE(pidfd, 0);
    leaveNone();
    const auto call =
        asBob->start(managerPath, managerInterface, "Activate", "a{sv}", 1, "process", "h", pidfd);
    finishOrEnd(*asBob, *call);
    if (service.hasEnded())
        service.start();
    else
        limitDescriptors(RLIM_INFINITY);
    EXPECT_FALSE(asBob->finish(*call).ok());
    ::close(pidfd);
    EXPECT_EQ(describe(hers), before);
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_FALSE(activate(*asBob, bobs).empty());
}

// Memory runs out at each allocation of a change in turn. The service answers, or fails and
// restarts with the old state or the new one.
TEST_F(Exhausted, MemoryEndsItAndTheNextOneHasEverything) {
    int ended = 0;
    int answered = 0;
    bool reached = true;
    for (std::uint32_t point = 1; reached; ++point) {
        SCOPED_TRACE("allocation " + std::to_string(point));
        const std::string before = describe(hers);
        const bool hasTwo = devicesOf(hers).find(',') != std::string::npos;
        injector.arm(memoryCalls, FaultAction::Fail, point, ENOMEM);
        const auto call =
            asRoot->start(environmentPath(hers), environmentInterface, "Attach", "a{sv}", 2,
                          "count", "u", hasTwo ? 1U : 2U, "exact", "b", 1);
        finishOrEnd(*asRoot, *call);
        reached = injector.fired() > 0;
        injector.disarm();
        turn();
        const bool restarted = service.hasEnded();
        if (restarted) {
            ++ended;
            service.start();
        } else {
            ++answered;
        }
        const Answer& answer = asRoot->finish(*call);
        const bool changed = (devicesOf(hers).find(',') != std::string::npos) != hasTwo;
        if (answer.ok()) {
            EXPECT_TRUE(changed);
        } else if (!changed) {
            EXPECT_EQ(describe(hers), before);
        }
        ASSERT_EQ(environmentCount(), "1");
        EXPECT_EQ(holders().size(), devicesOf(hers).find(',') != std::string::npos ? 2U : 1U);
        if (restarted)
            expectShellFilesFor({hers});
        EXPECT_FALSE(alices.hasEnded());
    }
    std::printf("out of memory: ended %d times, answered %d times\n", ended, answered);
    EXPECT_GT(ended, 5);
}

class FullStore : public FaultTest {
  protected:
    FullStore() : FaultTest(devices) {}
    static constexpr std::uint32_t devices = 258;
};

// systemd's store is limited so that a restart still works. For later locks the service logs a
// warning; they last as long as the service runs.
TEST_F(FullStore, KeepsThe256FirstLocksOverARestartAndTheLogNamesTheOthers) {
    DescriptorStore store;
    service.end(SIGTERM);
    service.set("NOTIFY_SOCKET", store.address());
    service.start();
    std::deque<UserProcess> processes;
    std::vector<SharedDescriptor> locks;
    while (processes.size() < devices) {
        const std::string id = activate(*asRoot, processes.emplace_back(root), 1);
        const Answer answer = asRoot->environment(id, "Lock");
        int fd = -1;
        ASSERT_TRUE(answer.ok() && sd_bus_message_read(answer.message.get(), "h", &fd) > 0)
            << answer.text;
        locks.push_back(own(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
        store.received(); // its socket has a limited queue
    }
    service.waitForLog("will not outlive a restart: 256 are kept already");
    const auto locked = [&] {
        std::uint32_t count = 0;
        for (std::uint32_t index = 0; index < devices; ++index)
            count +=
                asRoot->property(devicePath(index), deviceInterface, "LockedBy").empty() ? 0U : 1U;
        return count;
    };
    EXPECT_EQ(locked(), devices);
    service.end(SIGKILL);
    std::map<std::string, int> passed;
    for (const auto& [name, descriptor] : store.kept())
        passed[name] = *descriptor;
    EXPECT_EQ(passed.size(), 256U);
    service.pass(passed);
    service.start();
    EXPECT_EQ(environmentCount(), std::to_string(devices));
    EXPECT_EQ(locked(), 256U);
}

} // namespace
} // namespace genv::tests
