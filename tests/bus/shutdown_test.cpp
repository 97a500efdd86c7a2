// SPDX-License-Identifier: LGPL-2.1-or-later
// The service is stopped while calls wait for everything that a call can wait for. The sanitizers
// check that no reply handler outlives an object that its call uses.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"
#include "tests/service/hung_entry.hpp"

#include <signal.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

// Two GPUs. Every call here waits until the service ends.
class Shutdown : public BusTest {
  protected:
    Shutdown() {
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", driver_);
        // Without sanitizers, glibc overwrites freed memory, so that its use ends the service.
        service.set("GLIBC_TUNABLES", "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0");
        writeMachine(
            R"({"devices":[{"uuid":"GPU-a","name":"A100","memory":{"total":16000,"used":0}},
                                    {"uuid":"GPU-b","name":"A100","memory":{"total":16000,"used":0}}]})");
        service.start();
        for (int i = 0; i < 4; ++i)
            hanging_.emplace_back(carol);
    }

    void writeMachine(const std::string& json) const {
        std::ofstream(driver_ + ".new") << json;
        std::filesystem::rename(driver_ + ".new", driver_);
    }
    void share(Client& client, const std::string& id) {
        allowOverSubscribe(client, id);
        EXPECT_TRUE(
            client.environment(id, "Attach", "a{sv}", 2, "index", "u", 0U, "over-subscribe", "b", 1)
                .ok());
    }
    template <typename... Arguments>
    void start(Client& client, const std::string& path, const char* interface, const char* member,
               Arguments... arguments) {
        calls_.push_back({client, client.start(path, interface, member, arguments...), member});
    }

    // One call waits for a lock, and one for GPUs.
    void waitInLine() {
        const std::string hers = activate(*asAlice, alices_);
        const std::string his = activate(*asBob, bobs_);
        const std::string carolsId = activate(*asCarol, carols_);
        share(*asAlice, hers);
        share(*asBob, his);
        lock_ = asAlice->start(environmentPath(hers), environmentInterface, "Lock");
        EXPECT_EQ(asAlice->finish(*lock_).error, "");
        start(*asBob, environmentPath(his), environmentInterface, "Lock");
        // Polkit answers in the order of the questions, so the call above is in the queue after
        // this one.
        EXPECT_TRUE(asBob->environment(his, "Configure", "a{sv}as", 0, 0).ok());
        start(*asCarol, environmentPath(carolsId), environmentInterface, "Attach", "a{sv}", 2,
              "count", "u", 2U, "wait", "b", 1);
        waitUntil([&] { return waitingIn(*asRoot).size() == 1; }, "the place in the queue");
    }
    // One call is refused because it needs a password. The service logs it a little later, unless
    // the call is repeated. Another call waits for polkit, which does not answer.
    void waitForAuthorization() {
        const std::string hers = activate(*asAlice, asked_);
        EXPECT_EQ(asBob->environment(hers, "Deactivate").error, error::interactive);
        signalDaemon("polkitd", SIGSTOP);
        start(*asBob, environmentPath(hers), environmentInterface, "Deactivate");
    }
    // The driver hangs, and calls request samples in every way.
    void waitForASample() {
        writeMachine(R"({"faults":{"*":"hang"}})");
        // The last sample is used for up to a second.
        std::unique_ptr<PendingCall> listing;
        waitUntil(
            [&] {
                listing = asAlice->start(managerPath, managerInterface, "ListProcesses");
                for (int i = 0; i < 500; ++i)
                    asAlice->ping();
                while (sd_bus_process(asAlice->bus(), nullptr) > 0) {
                }
                return !listing->answered;
            },
            "the driver to hang");
        calls_.push_back({*asAlice, std::move(listing), "ListProcesses"});
        start(*asRoot, managerPath, managerInterface, "Enforce", "a{sv}", 0);
        start(*asRoot, managerPath, managerInterface, "Snapshot");
        start(*asRoot, managerPath, managerInterface, "DescribeProcesses");
        start(*asRoot, managerPath, managerInterface, "TerminateProcess", "u", alices_.pid());
    }
    // Each read of a process in /proc hangs for a while.
    void waitForProcesses() {
        for (const UserProcess& process : hanging_) {
            for (const char* file : {"stat", "environ"})
                entries_.emplace_back(process.pid(), file);
            start(*asCarol, managerPath, managerInterface, "Activate", "a{sv}", 1, "pid", "u",
                  process.pid());
        }
    }

    struct Call {
        Client& client;
        std::unique_ptr<PendingCall> pending;
        std::string member;
    };
    std::vector<Call> calls_;

  private:
    const std::string driver_ = (Service::configurationFolder() / "driver.json").string();
    UserProcess alices_{alice};
    UserProcess bobs_{bob};
    UserProcess carols_{carol};
    UserProcess asked_{alice};
    std::unique_ptr<PendingCall> lock_;
    std::deque<UserProcess> hanging_;
    std::deque<HungEntry> entries_;
};

TEST_F(Shutdown, IsInGoodOrderWhateverCallsWaitFor) {
    waitInLine();
    waitForASample();
    waitForAuthorization();
    waitForProcesses();
    asRoot->manager("ListDevices"); // calls are answered in order, so the others were read
    EXPECT_EQ(service.end(SIGTERM), 0) << service.log();
    signalDaemon("polkitd", SIGCONT);
    for (Call& call : calls_)
        EXPECT_EQ(call.client.finish(*call.pending).error, "org.freedesktop.DBus.Error.NoReply")
            << call.member;
    const std::string log = service.log();
    const auto refused = log.find("refused ");
    EXPECT_EQ(log.find("refused dev.genv.Environment.Deactivate"), refused) << log;
    EXPECT_EQ(log.find("refused ", refused + 1), std::string::npos) << log;
}

} // namespace
} // namespace genv::tests
