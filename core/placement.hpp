// SPDX-License-Identifier: LGPL-2.1-or-later
// Placement: which devices a request gets. A pure function of the request, the environment that
// asks and what is held, so that the same question always has the same answer; all or nothing.
#pragma once

#include "core/attach_request.hpp"
#include "core/device_table.hpp"
#include "core/environment.hpp"
#include "core/reservations.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace genv::core {

/// What a request would do: the very devices, so that what was authorised is what is done.
struct Placement {
    struct Device {
        DeviceFacts facts;
        bool overSubscribed = false; ///< somebody else holds it
        bool occupied = false;       ///< a process of none of its environments runs on it
        /// The waiting requests that it is kept for; it is given until they can start.
        std::vector<std::uint64_t> keptFor = {};
    };
    std::vector<Device> attach;
    std::vector<DeviceUuid> detach; ///< the surplus of a smaller exact count
    std::optional<Bytes> share;
    /// How long it is asked for; unset: as long as the environment lasts.
    std::optional<std::chrono::seconds> lifetime;

    /// What the environment held when this was worked out; another state makes it stale.
    std::vector<DeviceUuid> basis;

    [[nodiscard]] bool overSubscribes() const;
};

/// A request waits, since it cannot have its devices now.
struct PlannedWait {
    AttachRequest request;
    Placement expected; ///< the number of devices and their shares, of devices yet unknown
};

/// What comes of a request: devices now, or a wait for them.
using Plan = std::variant<Placement, PlannedWait>;

/// Returns what a plan gives, or is expected to give after a wait.
const Placement& placementOf(const Plan& plan);

/// Whether a device is of a model: whether its name has this part, in any case. Every device is of
/// none in particular.
bool matchesModel(const DeviceFacts& facts, const std::optional<std::string>& model);

// `devices` are the machine's or, for a child of an environment, those of its parent.

/// The devices of a kind that a request for a number of devices could ever get, attached ones and
/// Slurm's not among them. One that a job holds and that is not Slurm's otherwise is, since the job
/// ends. `environment` is null for one that does not exist yet.
std::vector<const Device*> candidates(const AttachRequest& request, const DeviceTable& devices,
                                      const Environment* environment, DeviceKind kind);

/// The devices that a request names and that are there, each once, attached ones not among them.
std::vector<const Device*> namedDevices(const AttachRequest& request, const DeviceTable& devices,
                                        const Environment* environment);

/// Works out what a request gets without what is reserved for others. `environment` is null for one
/// that does not exist yet, and `leaseEnd` is unset where the request has no lease. Throws Error:
/// NoSuchDevice, NotEnoughDevices (more than the machine has), DeviceUnavailable (others hold them,
/// or wait for them), InvalidArgs.
Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Environment* environment, const Reservations& reservations = {},
                std::optional<BootTime> leaseEnd = std::nullopt);

/// Returns what comes of a request that may wait. Throws as place() does, but DeviceUnavailable
/// only for what no waiting can get.
Plan placeOrWait(const AttachRequest& request, const DeviceTable& devices,
                 const Environment* environment, const Reservations& reservations,
                 std::optional<BootTime> leaseEnd = std::nullopt);

/// How many devices an environment lacks of what a request asks for.
std::size_t missing(const AttachRequest& request, const Environment& environment);

/// Whether a plan that was worked out before still gives exactly what it says, in the table as it
/// is now. A wait does for as long as its environment has the same attachments.
bool stillHolds(const Plan& plan, const DeviceTable& devices, const Environment* environment,
                const Reservations& reservations = {},
                std::optional<BootTime> leaseEnd = std::nullopt);

} // namespace genv::core
