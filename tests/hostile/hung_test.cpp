// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes that block their readers in /proc for ever: with file systems of the test's own
// (HungFuse), and with FIFOs over the files if FUSE is not available (HungStandIns).
#include "tests/bus/support/fixture.hpp"
#include "tests/hostile/hanging_process.hpp"
#include "tests/service/hung_entry.hpp"

#include <csignal>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {
namespace {

// A process that blocks its readers on command.
class Hanging {
  public:
    virtual ~Hanging() = default;
    [[nodiscard]] virtual core::Pid pid() const = 0;
    virtual void hang() = 0;
    virtual void awaitEnd() = 0;
};

class StandIn : public Hanging {
  public:
    StandIn(core::Uid uid, bool compute, std::string jupyterKernel, std::vector<std::string> files)
        : process_(ProcessOptions{
              .uid = uid, .compute = compute, .jupyterKernel = std::move(jupyterKernel)}),
          files_(std::move(files)) {}
    [[nodiscard]] core::Pid pid() const override { return process_.pid(); }
    void hang() override {
        for (const std::string& file : files_)
            entries_.emplace_back(pid(), file);
    }
    void awaitEnd() override { process_.wait(); }

  private:
    UserProcess process_;
    std::vector<std::string> files_;
    std::deque<HungEntry> entries_;
};

class Real : public Hanging {
  public:
    Real(core::Uid uid, bool compute, HangingProcess::Way way, int failedReads)
        : process_(uid, compute, way, failedReads) {}
    [[nodiscard]] core::Pid pid() const override { return process_.pid(); }
    void hang() override {
        if (!process_.hang("environ"))
            throw NoHanging("this kernel lets nobody wait for it");
    }
    void awaitEnd() override {
        waitUntil([this] { return process_.hasEnded(); }, "the process to end");
    }

  private:
    HangingProcess process_;
};

enum class Lock {
    Memory, ///< blocks `environ` and `cmdline`
    Exec,   ///< blocks `stat`, `environ`, `exe` and `ns`
};

class HungProcesses : public BusTest, public ::testing::WithParamInterface<Lock> {
  protected:
    virtual std::unique_ptr<Hanging> make(core::Uid uid, bool compute) = 0;

    void SetUp() override {
        configure("NonEnvProcesses=no");
        herId = activate(*asAlice, hers);
    }
    void configure(const std::string& more) {
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[Enforcement]\nInterval=1s\nGrace=1s\nKillAfter=1s\nEnvDevices=no\n"
            << more << "\n";
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    }
    // Returns a hanging process of a user, outside every environment, or null if none can be made.
    std::unique_ptr<Hanging> hangOne(core::Uid uid, bool compute) {
        try {
            auto process = make(uid, compute);
            process->hang();
            return process;
        } catch (const NoHanging& why) {
            missing = why.what();
            return nullptr;
        }
    }
    // Returns the user and the environment of each compute process in ListProcesses, by PID.
    std::map<core::Pid, std::pair<core::Uid, std::string>> listed() {
        const Answer answer = asAlice->manager("ListProcesses");
        EXPECT_TRUE(answer.ok()) << answer.text;
        std::map<core::Pid, std::pair<core::Uid, std::string>> rows;
        if (!answer.ok())
            return rows;
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(uusa(ut))");
        while (sd_bus_message_enter_container(message, 'r', "uusa(ut)") > 0) {
            std::uint32_t pid = 0;
            std::uint32_t uid = 0;
            const char* environment = "";
            sd_bus_message_read(message, "uus", &pid, &uid, &environment);
            sd_bus_message_skip(message, "a(ut)");
            sd_bus_message_exit_container(message);
            rows[pid] = {uid, environment};
        }
        return rows;
    }
    // Returns the path of a process's environment, or the error.
    std::string environmentOf(core::Pid pid) {
        const Answer answer = asAlice->manager("GetEnvironmentByPID", "u", pid);
        const char* path = "";
        if (answer.ok())
            sd_bus_message_read(answer.message.get(), "o", &path);
        return answer.error + path;
    }
    // The last sample may be a second old.
    void awaitSample(core::Pid pid) {
        waitUntil([&] { return listed().contains(pid); }, "the process to be seen");
    }
    std::size_t timesLogged(core::Pid pid) {
        const std::string line = "process " + std::to_string(pid) + " of uid";
        const std::string log = service.log();
        std::size_t count = 0;
        for (auto at = log.find(line); at != std::string::npos; at = log.find(line, at + 1))
            ++count;
        return count;
    }
    std::string deviceCount() {
        return asRoot->property(managerPath, managerInterface, "DeviceCount");
    }

    // -- the steps that both suites try

    void holdUpNobodyElse() {
        const auto hung = hangOne(bob, true);
        if (!hung)
            GTEST_SKIP() << missing;
        awaitSample(hung->pid());
        const auto rows = listed();
        EXPECT_EQ(rows.at(hung->pid()), std::pair(bob, std::string())) << "outside";
        ASSERT_TRUE(rows.contains(hers.child()));
        EXPECT_EQ(rows.at(hers.child()), std::pair(alice, herId));
        EXPECT_NE(asAlice->manager("Snapshot").readString().find(std::to_string(hung->pid())),
                  std::string::npos);
        EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok());
        EXPECT_EQ(deviceCount(), "4");
        // Callers that ask about the process get an answer, and other callers are served meanwhile.
        const auto asked =
            asBob->start(managerPath, managerInterface, "GetEnvironmentByPID", "u", hung->pid());
        const auto added = asBob->start(managerPath, managerInterface, "Activate", "a{sv}", 1,
                                        "pid", "u", hung->pid());
        EXPECT_EQ(environmentOf(hers.child()), environmentPath(herId));
        const UserProcess another(alice);
        EXPECT_NE(activate(*asAlice, another), "");
        EXPECT_FALSE(asBob->finish(*asked).ok());
        asBob->finish(*added);
        listed();
        EXPECT_EQ(timesLogged(hung->pid()), 1U) << service.log();
        EXPECT_EQ(service.end(SIGTERM), 0);
    }

    void areEndedByTheRule() {
        const auto hung = hangOne(bob, true);
        if (!hung)
            GTEST_SKIP() << missing;
        configure("NonEnvProcesses=yes");
        hung->awaitEnd();
        EXPECT_TRUE(listed().contains(hers.child())) << "which is in an environment";
    }

    void areEndedOnRequest() {
        const auto hung = hangOne(bob, true);
        if (!hung)
            GTEST_SKIP() << missing;
        awaitSample(hung->pid());
        EXPECT_FALSE(asAlice->manager("TerminateProcess", "u", hung->pid()).ok()) << "it is bob's";
        const Answer answer = asBob->manager("TerminateProcess", "u", hung->pid());
        ASSERT_TRUE(answer.ok()) << answer.text;
        hung->awaitEnd();
    }

    void holdUpNoSearchForJupyterKernels() {
        const auto bobs = hangOne(bob, false);
        const auto ownHung = hangOne(alice, false);
        if (!bobs || !ownHung)
            GTEST_SKIP() << missing;
        const UserProcess jupyterKernel(ProcessOptions{.uid = alice, .jupyterKernel = "k1"});
        const Answer answer =
            asAlice->manager("Activate", "a{sv}", 2, "kernel", "s", "k1", "id", "s", "kernels");
        EXPECT_EQ(answer.readString(), "kernels") << answer.text;
        EXPECT_EQ(asBob->manager("Activate", "a{sv}", 1, "kernel", "s", "k2").error,
                  error::noSuchProcess);
    }

    void ofTheStateLetTheServiceStart() {
        std::unique_ptr<Hanging> root;
        try {
            root = make(alice, false);
        } catch (const NoHanging& why) {
            GTEST_SKIP() << why.what();
        }
        const std::string id =
            asAlice->manager("Activate", "a{sv}", 1, "pid", "u", root->pid()).readString();
        try {
            root->hang();
        } catch (const NoHanging& why) {
            GTEST_SKIP() << why.what();
        }
        service.restart(SIGKILL);
        asAlice = std::make_unique<Client>(alice);
        asRoot = std::make_unique<Client>(core::Uid{0});
        EXPECT_EQ(environmentOf(root->pid()), environmentPath(id));
        EXPECT_EQ(environmentCount(), "2") << "hers and this one";
        ::kill(static_cast<pid_t>(root->pid()), SIGKILL);
        waitUntil([&] { return environmentCount() == "1"; }, "its end to be noticed");
    }

    const UserProcess hers{ProcessOptions{.uid = alice, .compute = true, .hasChild = true}};
    std::string herId;
    std::string missing;
};

class HungStandIns : public HungProcesses {
    std::unique_ptr<Hanging> make(core::Uid uid, bool compute) override {
        return std::make_unique<StandIn>(uid, compute, "",
                                         GetParam() == Lock::Memory
                                             ? std::vector<std::string>{"environ", "cmdline"}
                                             : std::vector<std::string>{"stat", "environ"});
    }
};

// The number of failed reads after which the kernel waits with the lock differs between versions,
// so all are tried.
class HungFuse : public HungProcesses {
    std::unique_ptr<Hanging> make(core::Uid uid, bool compute) override {
        const auto way =
            GetParam() == Lock::Memory ? HangingProcess::Way::Mapping : HangingProcess::Way::Exec;
        static const int failedReads = [&] {
            for (const int reads : {2, 1, 3, 4}) {
                const HangingProcess probe(uid, false, way, reads);
                if (probe.hang("environ"))
                    return reads;
            }
            throw NoHanging("this kernel lets nobody wait for it");
        }();
        return std::make_unique<Real>(uid, compute, way, failedReads);
    }
};

const auto byLock = [](const auto& each) { return each.param == Lock::Memory ? "Memory" : "Exec"; };
INSTANTIATE_TEST_SUITE_P(Lock, HungStandIns, ::testing::Values(Lock::Memory, Lock::Exec), byLock);
INSTANTIATE_TEST_SUITE_P(Lock, HungFuse, ::testing::Values(Lock::Memory, Lock::Exec), byLock);

TEST_P(HungStandIns, HoldUpNobodyElse) {
    holdUpNobodyElse();
}

TEST_P(HungStandIns, AreEndedByTheRuleForProcessesOutsideEnvironments) {
    areEndedByTheRule();
}

TEST_P(HungStandIns, AreEndedByWhoeverMayEndThem) {
    areEndedOnRequest();
}

TEST_P(HungStandIns, HoldUpNoSearchForJupyterKernels) {
    holdUpNoSearchForJupyterKernels();
}

TEST_P(HungStandIns, OfTheStateLetTheServiceStart) {
    ofTheStateLetTheServiceStart();
}

TEST_P(HungFuse, HoldUpNobodyElse) {
    holdUpNobodyElse();
}

TEST_P(HungFuse, AreEndedByTheRuleForProcessesOutsideEnvironments) {
    areEndedByTheRule();
}

TEST_P(HungFuse, AreEndedByWhoeverMayEndThem) {
    areEndedOnRequest();
}

TEST_P(HungFuse, HoldUpNoSearchForJupyterKernels) {
    holdUpNoSearchForJupyterKernels();
}

TEST_P(HungFuse, OfTheStateLetTheServiceStart) {
    ofTheStateLetTheServiceStart();
}

} // namespace
} // namespace genv::tests
