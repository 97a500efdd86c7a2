// SPDX-License-Identifier: LGPL-2.1-or-later
// A running service with so many environments and devices.
#pragma once

#include "bench/bus/crowd.hpp"
#include "bench/bus/operations.hpp"
#include "tests/bus/support/client.hpp"
#include "tests/bus/support/service.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::bench {

/// What is measured, and how much of it.
struct Plan {
    std::string genvd;
    unsigned calls = 500;
    bool quick = false;

    [[nodiscard]] std::vector<unsigned> environments() const {
        return quick ? std::vector<unsigned>{10, 100} : std::vector<unsigned>{100, 1000, 10'000};
    }
    [[nodiscard]] std::vector<unsigned> devices() const {
        return quick ? std::vector<unsigned>{8, 32} : std::vector<unsigned>{8, 128, 1024};
    }
    [[nodiscard]] std::vector<unsigned> processes() const {
        return quick ? std::vector<unsigned>{100, 200} : std::vector<unsigned>{100, 1000, 10'000};
    }
    [[nodiscard]] std::vector<unsigned> listeners() const {
        return quick ? std::vector<unsigned>{1, 10} : std::vector<unsigned>{1, 100, 1000};
    }
    /// How long one call is measured at most, one size with another.
    [[nodiscard]] std::chrono::milliseconds mostPerCall() const {
        return std::chrono::milliseconds{quick ? 50 : 250};
    }
};

/// How often the service looks at the GPUs by itself: hardly ever, unless that is what is measured.
inline constexpr const char* seldom = "1h";

class Scene {
  public:
    Scene(const Plan& plan, unsigned devices, const std::string& interval = seldom);

    /// Environments of root's, each with a process of its own and one of the devices, which it
    /// shares with others once there are more environments than devices.
    void growTo(unsigned environments);
    [[nodiscard]] unsigned environments() const { return environments_; }
    [[nodiscard]] unsigned devices() const { return devices_; }
    /// The id of an environment, from 0 on.
    [[nodiscard]] static std::string idOf(unsigned environment);
    [[nodiscard]] core::Pid processOf(unsigned environment) const {
        return crowd_.children().at(environment);
    }

    /// Kills the service, if it runs, and starts it; how long that took until it owned its name.
    std::chrono::nanoseconds start();

    /// As measureInTurns(), everybody on one processor where one call follows another.
    [[nodiscard]] std::vector<Series> measure(const std::vector<Operation>& operations,
                                              const Amount& amount) const;

    /// A further process, for an environment of the caller's own making.
    core::Pid addProcess();

    /// How much memory the service holds, in bytes.
    [[nodiscard]] double residentMemory() const;

    tests::Service service;
    tests::Client& root() { return *root_; }

  private:
    unsigned devices_;
    unsigned environments_ = 0;
    Crowd crowd_;
    Crowd others_;
    std::optional<tests::Client> root_;
};

} // namespace genv::bench
