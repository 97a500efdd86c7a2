// SPDX-License-Identifier: LGPL-2.1-or-later
// Thousands of clients call, subscribe, wait, hold locks, and are killed. The service uses no more
// memory afterwards than before, and serves all others.
#include "tests/faults/fixture.hpp"

#include <sys/prctl.h>

#include <array>

namespace genv::tests {
namespace {

struct Size {
    long resident = 0; ///< KiB, without memory that is shared with files
    std::size_t descriptors = 0;
    std::size_t threads = 0;
};

std::size_t entriesOf(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                  std::filesystem::directory_iterator()));
}

Size sizeOf(pid_t pid) {
    Size size;
    const std::string process = "/proc/" + std::to_string(pid);
    std::ifstream status(process + "/status");
    for (std::string word; status >> word;) {
        if (word == "RssAnon:")
            status >> size.resident;
    }
    size.descriptors = entriesOf(process + "/fd");
    size.threads = entriesOf(process + "/task");
    return size;
}

class Storm : public FaultTest {
  protected:
    static constexpr int perProcess = 50;

    Storm() : FaultTest(1) {
        // As many waits and locks at once as root may have.
        EXPECT_TRUE(asRoot
                        ->environment(shared, "Attach", "a{sv}", 2, "index", "u", 0U,
                                      "over-subscribe", "b", 1)
                        .ok());
    }

    /// Makes fifty connections in a process that is killed in the middle of its calls.
    void strike(int number) const {
        std::array<int, 2> ready{};
        ASSERT_EQ(::pipe(ready.data()), 0);
        const pid_t process = ::fork();
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::vector<std::unique_ptr<Client>> clients;
            std::vector<std::unique_ptr<PendingCall>> calls;
            std::vector<Slot> slots;
            for (int i = 0; i < perProcess; ++i) {
                Client& client =
                    *clients.emplace_back(std::make_unique<Client>(i % 2 == 0 ? root : alice));
                switch ((number + i) % 5) {
                case 0:
                    slots.push_back(client.listen("type='signal',sender='dev.genv.Manager'",
                                                  [](sd_bus_message*) {}));
                    break;
                case 1:
                    calls.push_back(
                        client.start(environmentPath(shared), environmentInterface, "Lock"));
                    break;
                case 2:
                    calls.push_back(client.start(managerPath, managerInterface, "Activate", "a{sv}",
                                                 3, "pid", "u", waiting.pid(), "gpus", "u", 1U,
                                                 "wait", "b", 1));
                    break;
                case 3:
                    calls.push_back(client.start(managerPath, managerInterface, "Enforce", "a{sv}",
                                                 2, "dry-run", "b", 1, "interval", "t",
                                                 std::uint64_t{60}));
                    break;
                default:
                    client.manager("ListDevices");
                }
                client.manager("GetEnvironmentByPID", "u", 0U);
            }
            char byte = 0;
            if (::write(ready[1], &byte, 1) == 1)
                ::pause();
            ::_exit(1);
        }
        ::close(ready[1]);
        char byte = 1;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
    }

    void storm(int clients) {
        for (int done = 0; done < clients; done += perProcess)
            strike(done);
        // All their devices are free again, and all their requests have ended.
        waitUntil([&] { return environmentCount() == "1"; }, "their environments to end");
        waitUntil(
            [&] {
                return asRoot->property(devicePath(0), deviceInterface, "LockedBy").empty() &&
                       asRoot->manager("GetEnvironment", "s", shared.c_str()).ok();
            },
            "their locks to be free");
    }

    UserProcess holder{root};
    UserProcess waiting{root};
    const std::string shared = activate(*asRoot, holder);
};

TEST_F(Storm, OfClientsThatAreKilledLeavesTheServiceAsItWas) {
    const int first = isFull() ? 1000 : 300;
    const int last = isFull() ? 10'000 : 1000;
    storm(first);
    const Size before = sizeOf(service.pid());
    storm(last - first);
    waitUntil([&] { return sizeOf(service.pid()).descriptors <= before.descriptors; },
              "the descriptors of the last clients to be closed");
    const Size after = sizeOf(service.pid());
    std::printf("after %d clients: %ld KiB, %zu descriptors, %zu threads; after %d: %ld KiB, %zu "
                "descriptors, %zu threads\n",
                first, before.resident, before.descriptors, before.threads, last, after.resident,
                after.descriptors, after.threads);
    EXPECT_LE(after.threads, before.threads + 2) << "GLib keeps an idle thread for a while";
    // A hundred bytes kept for each of 9 000 clients would exceed this limit.
    EXPECT_LT(after.resident, before.resident + (isFull() ? 880 : 512));
}

} // namespace
} // namespace genv::tests
