// SPDX-License-Identifier: LGPL-2.1-or-later
// A running service with a given number of environments and devices.
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

/// The scope of a benchmark run.
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
    /// Returns the maximum time for measuring one call in one size.
    [[nodiscard]] std::chrono::milliseconds maxTimePerCall() const {
        return std::chrono::milliseconds{quick ? 50 : 250};
    }
};

/// The service's interval for observing the GPUs: practically never, unless that is measured.
inline constexpr const char* seldom = "1h";

class Scene {
  public:
    Scene(const Plan& plan, unsigned devices, const std::string& interval = seldom);

    /// Adds environments of root. Each has its own process and one device, which it shares with
    /// others if there are more environments than devices.
    void growTo(unsigned environments);
    [[nodiscard]] unsigned environments() const { return environments_; }
    [[nodiscard]] unsigned devices() const { return devices_; }
    /// Returns the id of an environment, counted from 0.
    [[nodiscard]] static std::string idOf(unsigned environment);
    [[nodiscard]] core::Pid processOf(unsigned environment) const {
        return crowd_.children().at(environment);
    }

    /// Kills the service if it runs, and starts it. Returns the time until it owned its name.
    std::chrono::nanoseconds start();

    /// Works like measureInTurns(), but keeps all processes on one processor if calls are
    /// sequential.
    [[nodiscard]] std::vector<Series> measure(const std::vector<Operation>& operations,
                                              const Amount& amount) const;

    /// Returns another process, for an environment that the caller creates.
    core::Pid addProcess();

    /// Returns the resident memory of the service, in bytes.
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
