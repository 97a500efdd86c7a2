// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls of genv-jobs to genvd, on one connection to the system bus. They go to the running
// genvd only: one that an administrator has stopped stays stopped, and a listener is told when one
// comes.
#pragma once

#include "client/jobs/daemon/request.hpp"
#include "client/loop_bus.hpp"
#include "core/base/time.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

/// What genvd says about a request that waits.
struct RequestWait {
    std::string waitsFor; ///< devices, earlier-requests or quota
    std::string limit;    ///< of a quota
    std::uint64_t used = 0;
    std::uint64_t allowed = 0;
    std::uint32_t position = 0;
    std::optional<core::WallTime> expectedStart;
    bool takes = false;   ///< preemptible environments are being parked for it
    bool resumes = false; ///< its environment was parked for another request, and waits to go on
};
using RequestWaits = std::map<std::string, RequestWait>; ///< by environment

struct DeviceRow {
    std::uint32_t index = 0;
    std::string uuid;
    std::string model;
};

/// What genvd says about an environment and the machine, as far as its command needs it.
struct GrantedEnvironment {
    std::string id;
    std::string name;
    std::chrono::microseconds created{}; ///< since the epoch
    std::uint32_t gpus = 0;              ///< of its configuration; 0: not set
    std::uint64_t gpuMemoryBytes = 0;    ///< the same
    std::vector<std::uint32_t> devices;  ///< indices
    bool hasParent = false;
    std::vector<DeviceRow> machine;
    std::string isolation; ///< the mode that is in force
};

class ServiceLink {
  public:
    /// The outcome of a call.
    enum class Outcome {
        Done,
        Lost, ///< genvd ended, or does not run
        Failed,
    };
    struct Answer {
        Outcome outcome = Outcome::Done;
        std::string error; ///< name of the error
        std::string text;  ///< of the error
    };

    /// `changed` is called when genvd has come (true) or gone (false).
    ServiceLink(const event::LoopBus& bus, std::function<void(bool isThere)> changed);
    ServiceLink(const ServiceLink&) = delete;
    ServiceLink& operator=(const ServiceLink&) = delete;

    [[nodiscard]] bool isThere() const noexcept { return !owner_.empty(); }

    /// Starts an environment with the process of a pidfd as its root process, and waits without end
    /// for its devices. The options are those of Activate.
    void activate(const Dictionary& options, int process,
                  std::function<void(const Answer&)> handler);
    void readGranted(const std::string& environment,
                     std::function<void(const Answer&, const GrantedEnvironment&)> handler);
    /// The devices of the machine; nothing if genvd does not answer soon. Starts genvd.
    void listDevices(std::function<void(const std::optional<std::vector<DeviceRow>>&)> handler);
    /// The requests that wait; empty if genvd does not answer soon.
    void describeQueue(std::function<void(const RequestWaits&)> handler);
    /// The GPU memory that each environment uses, in bytes, as far as the driver knows it.
    void readMemory(std::function<void(const std::map<std::string, std::uint64_t>&)> handler);

  private:
    void onOwner(const std::string& owner);
    void act(const sdbus::MethodCall& call, std::function<void(const Answer&)> handler);
    [[nodiscard]] std::string destination() const;
    [[nodiscard]] sdbus::MethodCall callManager(const char* member) const;

    const event::LoopBus& bus_;
    const std::function<void(bool)> changed_;
    std::string owner_; ///< unique name of genvd; "" = it does not run
};

} // namespace genv::jobs
