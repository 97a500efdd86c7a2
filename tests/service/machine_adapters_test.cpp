// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes that the service could not read when it started are read again until it knows them.
#include "service/gpu/simulated_gpus.hpp"
#include "service/machine_adapters.hpp"
#include "service/park/park_socket.hpp"
#include "service/processes/proc_files.hpp"
#include "service/slurm/slurm_socket.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/child.hpp"
#include "tests/service/hung_entry.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace genv::tests {
namespace {

/// A loop on which the time until the next attempt passes at once.
class HastyLoop : public service::GlibLoop {
  public:
    std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                           std::function<void()> function) override {
        if (delay != service::HungProcesses::retryAfter)
            return GlibLoop::after(delay, std::move(function));
        if (++attempts == enough)
            quit(EXIT_SUCCESS);
        return GlibLoop::after(std::chrono::milliseconds{0}, std::move(function));
    }
    int attempts = 0;
    int enough = 0; ///< ends the loop
};

class UnreadProcesses : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, for a mount namespace";
        ASSERT_TRUE(HungEntry::isolate());
        machine.emplace(
            loop, log, std::make_unique<service::SimulatedGpus>([](const std::string&) {
                return std::nullopt;
            }),
            service::ProcProgram{GENV_TEST_GENVD},
            std::make_unique<service::SlurmSocket>(service::SlurmSocketSettings{}, loop),
            std::make_unique<service::ParkSocket>(service::ParkSocketSettings{}, loop));
        first = service::readIdentity(hanging.pid()).value();
        second = service::readIdentity(other.pid()).value();
        firstEntry.emplace(hanging.pid(), "stat");
        secondEntry.emplace(other.pid(), "stat");
    }
    // Functions that are still in the loop use the machine.
    void TearDown() override {
        while (g_main_context_iteration(nullptr, FALSE) != 0) {
        }
    }
    /// Runs the loop until a test ends it.
    int run() {
        const auto tooLong =
            loop.GlibLoop::after(std::chrono::seconds{20}, [this] { loop.quit(EXIT_FAILURE); });
        return loop.run();
    }

    HastyLoop loop;
    SilentLog log;
    std::optional<service::MachineAdapters> machine;
    const Child hanging{{.uid = 65534}};
    const Child other{{.uid = 65534}};
    core::ProcessIdentity first;
    core::ProcessIdentity second;
    std::optional<HungEntry> firstEntry;
    std::optional<HungEntry> secondEntry;
};

TEST_F(UnreadProcesses, AreReadAgainAndReportedIfTheyAreOthers) {
    const core::ProcessIdentity former{second.pid, second.startTime - 1};
    const auto pins = machine->processes.findAgain({first, former});
    ASSERT_NE(pins[1], nullptr);
    firstEntry.reset();
    secondEntry.reset(); // it was not tried
    std::vector<core::ProcessIdentity> exited;
    machine->watchProcesses([&](const core::ProcessIdentity& process) {
        exited.push_back(process);
        loop.quit(EXIT_SUCCESS);
    });
    EXPECT_EQ(run(), EXIT_SUCCESS);
    EXPECT_EQ(exited, std::vector{former});
}

TEST_F(UnreadProcesses, AreReadAsOftenAsNecessary) {
    const auto pins = machine->processes.findAgain({first});
    ASSERT_NE(pins[0], nullptr);
    loop.enough = 3;
    machine->watchProcesses([](const core::ProcessIdentity&) {});
    EXPECT_EQ(run(), EXIT_SUCCESS);
    EXPECT_TRUE(machine->processes.hasUnverified());
}

} // namespace
} // namespace genv::tests
