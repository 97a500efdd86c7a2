// SPDX-License-Identifier: LGPL-2.1-or-later
// Parking while the kernel refuses GPUs to users who do not hold them: the stand-in of CUDA opens
// the GPU's node when it restores a process, and the gate applies to it.
#include "tests/bus/support/cuda.hpp"
#include "tests/bus/support/queue.hpp"
#include "tests/service/isolation/gate_machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace genv::tests {
namespace {

using Opening = GateMachine::Opening;

class IsolatedParking : public CudaBusTest {
  protected:
    void SetUp() override {
        if (const std::string why = whyNoGate(); !why.empty())
            GTEST_SKIP() << why;
        gate = std::make_unique<GateMachine>();
        machine.become({{"devices",
                         {{{"uuid", "GPU-0"},
                           {"minor", gpu.minor},
                           {"node", gate->pathOf(gpu).string()},
                           {"memory", {{"total", CudaMachine::total}, {"used", 0}}}}}}});
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[GPU]\nBackend=nvml\n[Isolation]\nIsolation=user\n";
        const std::string command =
            fmt::format("CONFIGURATION_DIRECTORY={} {} --control-group {}",
                        Service::configurationFolder().string(), GENV_TEST_GENV_ISOLATION,
                        gate->controlGroup().string());
        ASSERT_EQ(std::system(command.c_str()), 0); // NOLINT(cert-env33-c)
        service.start();
    }
    void TearDown() override {
        if (gate) {
            EXPECT_EQ(std::system(GENV_TEST_GENV_ISOLATION " --remove 2>/dev/null"), 0);
        }
    }
    std::unique_ptr<Holding> haveIsolated() {
        return haveHolding({}, [group = gate->controlGroup() / "cgroup.procs"] {
            std::ofstream(group) << ::getpid() << std::flush;
        });
    }
    Opening open(core::Uid uid) { return gate->open(gpu, uid); }

    std::unique_ptr<GateMachine> gate;
};

TEST_F(IsolatedParking, TakesTheGrantBeforeTheGpuIsOfferedAndGivesItBeforeTheRestore) {
    EXPECT_EQ(asAlice->property(managerPath, managerInterface, "Isolation"), "user");
    const auto alices = haveIsolated();
    const UserProcess bobsShell(bob);
    const std::string bobs = activate(*asBob, bobsShell);
    const auto waiting = asBob->start(environmentPath(bobs), environmentInterface, "Attach",
                                      "a{sv}", 2, "index", "u", 0, "wait", "b", 1);
    waitUntil([&] { return queueOf(*asRoot).size() == 1; }, "the wait");
    EXPECT_EQ(open(alice), Opening::LetThrough);
    Opening whenOffered = Opening::Failed;
    const Slot detached = asCarol->listen("type='signal',member='Detached'",
                                          [&](sd_bus_message*) { whenOffered = open(alice); });
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    EXPECT_TRUE(asBob->finish(*waiting).ok());
    asCarol->processUntil([&] { return whenOffered != Opening::Failed; }, "the signal");
    EXPECT_EQ(whenOffered, Opening::Refused);
    EXPECT_EQ(open(bob), Opening::LetThrough);

    ASSERT_TRUE(asBob->environment(bobs, "Deactivate").ok());
    alices->program->forgetCalls();
    const Answer resumed = resume(*asAlice, alices->id);
    ASSERT_TRUE(resumed.ok()) << resumed.text;
    EXPECT_EQ(alices->program->callsOf("cuCheckpointProcessRestore"), 1)
        << "the first one was refused by the kernel";
    EXPECT_EQ(open(alice), Opening::LetThrough);
    expectGoesOn(*alices);
}

} // namespace
} // namespace genv::tests
