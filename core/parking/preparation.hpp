// SPDX-License-Identifier: LGPL-2.1-or-later
// The questions before an environment is parked: what the driver can do, which processes use the
// environment's devices, whether they can be moved, and whether host memory takes them. Nothing is
// changed until all answers are there.
#pragma once

#include "core/base/error.hpp"
#include "core/ledger/ledger.hpp"
#include "core/parking/room.hpp"
#include "core/ports/host_memory.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/parker.hpp"
#include "core/ports/processes.hpp"
#include "core/settings/settings.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace genv::core {

/// The ports through which the world is asked and processes are moved.
struct ParkingPorts {
    Observer& observer;
    Processes& processes;
    Parker& parker;
    HostMemory& hostMemory;
};

/// Returns the processes that use devices which the environment holds, as an observation shows
/// them. Throws Error(CannotPark) if one of them cannot be moved.
std::vector<ParkedProcess> processesToPark(const LedgerView& ledger,
                                           const EnvironmentRecord& environment,
                                           const Observation& observation, bool multiGpu);

/// Throws the errors of a request to park an environment that need no question to the world.
void requireParkable(const LedgerView& ledger, const EnvironmentRecord& environment,
                     const ParkingSettings& settings);

/// Pins processes. `done` gets those that still exist, with their pins, or an error.
void pinAll(Processes& processes, std::vector<ParkedProcess> wanted, Uid requester,
            std::function<void(std::vector<ParkedProcess>, const std::optional<Error>&)> done);

/// The questions for one environment. The object lives until they are answered.
class Preparation : public std::enable_shared_from_this<Preparation> {
  public:
    /// `done` is called once, unless the environment ends before: with the pinned processes, or the
    /// error. `others` is asked when host memory was read.
    using Done =
        std::function<void(const std::vector<ParkedProcess>&, const std::optional<Error>&)>;

    Preparation(const LedgerView& ledger, const ParkingPorts& ports,
                const EnvironmentRecord& environment,
                std::function<const ParkingSettings&()> settings,
                std::function<OthersParked()> others, Done done);

    void start();

  private:
    [[nodiscard]] const EnvironmentRecord& environment() const;
    template <typename Step>
    void guarded(Step step);
    void onCapability(const ParkingCapability& capability);
    void onObserved(const std::shared_ptr<const Observation>& observation);
    void onPinned(std::vector<ParkedProcess> processes);
    void onHostMemory(const HostMemoryReading& reading);

    const LedgerView& ledger_;
    const ParkingPorts ports_;
    const EnvironmentId id_;
    const std::uint64_t sequence_;
    const std::function<const ParkingSettings&()> settings_;
    const std::function<OthersParked()> others_;
    const Done done_;
    std::vector<ParkedProcess> processes_;
};

} // namespace genv::core
