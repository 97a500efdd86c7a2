// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine with a fake driver, on which processes can be parked: the real genvd, with the real
// genv-nvml and genv-park behind their sockets, and programs of users that use CUDA.
#pragma once

#include "tests/bus/support/fixture.hpp"
#include "tests/fake_cuda/cuda_machine.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace genv::tests {

/// Starts genv-park for each connection, as systemd does.
class ParkHelpers {
  public:
    explicit ParkHelpers(const CudaMachine& machine);
    ParkHelpers(const ParkHelpers&) = delete;
    ParkHelpers& operator=(const ParkHelpers&) = delete;
    ~ParkHelpers();

    [[nodiscard]] std::string socket() const { return socket_; }
    /// Stop and start what listens. Without the folder, the helpers find the fake libraries.
    void stop();
    void start(const CudaMachine& machine, const std::string& libraries = {});
    /// Waits until no helper runs. Returns false if one stays.
    [[nodiscard]] bool areDone() const;
    /// Kill the helpers that run now, or the processes that make their calls. Return how many.
    int killHelpers() const;
    int killTheirChildren() const;

  private:
    std::string socket_;
    pid_t listener_ = -1;
};

/// A shell of a user, and CUDA programs within its environment.
class CudaBusTest : public BusTest {
  protected:
    explicit CudaBusTest(unsigned gpus = 2);

    /// Alice's environment on GPU 0, with a program.
    struct Holding {
        UserProcess shell{alice};
        std::string id;
        std::unique_ptr<CudaProgram> program;
    };
    std::unique_ptr<Holding> haveHolding(const std::vector<std::string>& arguments = {},
                                         const std::function<void()>& prepare = {}) {
        auto holding = std::make_unique<Holding>();
        holding->id = activate(*asAlice, holding->shell, 1);
        holding->program = compute(alice, holding->id, "alices", arguments, prepare);
        return holding;
    }
    void expectGoesOn(Holding& holding) {
        EXPECT_EQ(stateOf(holding.id), "active");
        EXPECT_EQ(devicesOf(holding.id), "0");
        EXPECT_TRUE(holding.program->goesOn());
        EXPECT_TRUE(holding.program->endsWell()) << "its memory is not what it was";
    }

    /// Writes genvd.conf and reloads it.
    void configure(const std::string& text);
    /// Starts a program that uses the first GPU which the environment holds. `prepare` is called
    /// in its process, as root.
    std::unique_ptr<CudaProgram> compute(core::Uid uid, const std::string& environment,
                                         const std::string& name,
                                         const std::vector<std::string>& arguments = {},
                                         const std::function<void()>& prepare = {});
    std::string propertyOf(const std::string& id, const char* name) {
        return asRoot->property(environmentPath(id), environmentInterface, name);
    }
    std::string stateOf(const std::string& id) { return propertyOf(id, "State"); }
    Answer park(Client& client, const std::string& id) {
        return client.environment(id, "Park", "a{sv}", 0);
    }
    Answer attach(Client& client, const std::string& id, std::uint32_t index) {
        return client.environment(id, "Attach", "a{sv}", 1, "index", "u", index);
    }
    Answer resume(Client& client, const std::string& id) {
        return client.environment(id, "Resume", "a{sv}", 0);
    }

    CudaMachine machine;
    ParkHelpers helpers{machine};
};

} // namespace genv::tests
