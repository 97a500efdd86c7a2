// SPDX-License-Identifier: LGPL-2.1-or-later
// Placement: selects the devices for a request. It is a pure function of the request, the
// requesting environment and the current holders, so the same input always gives the same result. A
// request gets all of its devices or none.
#pragma once

#include "core/model/attach_request.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"
#include "core/placement/consent.hpp"
#include "core/placement/reservations.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace genv::core {

/// The effect of a request. It names the exact devices, so that the change matches what was
/// authorized.
struct Placement {
    struct Device {
        DeviceFacts facts;
        bool overSubscribed = false; ///< another environment holds it
        /// Something outside genv uses it, or only a further sample can tell.
        bool occupied = false;
        /// The waiting requests for which it is kept; it is granted until they can start.
        std::vector<std::uint64_t> keptFor = {};
        /// The environments of other users that hold an over-subscribed device and did not consent.
        std::vector<EnvironmentId> withoutConsent = {};
    };
    std::vector<Device> attach;
    std::vector<DeviceUuid> detach; ///< the surplus of a smaller exact count
    std::optional<Bytes> share;
    /// The requested lifetime; unset: as long as the environment lasts.
    std::optional<std::chrono::seconds> lifetime;

    /// The devices of the environment at the time of the computation. The placement is stale if
    /// they change.
    std::vector<DeviceUuid> basis;

    [[nodiscard]] bool overSubscribes() const;
};

/// The plan of a request that waits, since it cannot have its devices now.
struct PlannedWait {
    AttachRequest request;
    Placement expected; ///< the number of devices and their shares; the devices are not known yet
    bool holdForQuota = false; ///< while a quota forbids the request, it waits and is not refused
    bool isHeld = false;       ///< a quota forbids it now
    bool takesOnly = false;    ///< it waits only while others are parked for it
};

/// The result of a request: devices now, or a wait for them.
using Plan = std::variant<Placement, PlannedWait>;

/// Returns the placement of a plan, or the one that is expected after a wait.
const Placement& placementOf(const Plan& plan);

/// Returns whether a placement for the same request uses as few devices as the other one that are
/// held by others, held by others without their consent, used from outside, or kept for waiting
/// requests.
bool isAsGood(const Placement& placement, const Placement& other);

/// Returns whether two plans for the same request give the same devices in the same way, or both
/// wait.
bool haveSameOutcome(const Plan& a, const Plan& b);

/// Returns whether the name of a device's model contains `model`, case-insensitively. Every device
/// matches an unset model.
bool matchesModel(const DeviceFacts& facts, const std::optional<std::string>& model);

/// Returns whether a request names a device, or a model that it matches.
bool isAskedFor(const AttachRequest& request, const TableDevice& device);

// `devices` are the machine's or, for a child of an environment, those of its parent.

/// Returns the devices of a kind that a request for a number of devices could ever get, without
/// attached devices and Slurm's devices. A device that is not reserved for Slurm but held by a job
/// is included, since the job ends. `environment` is null for one that does not exist yet.
std::vector<const TableDevice*> candidates(const AttachRequest& request, const DeviceTable& devices,
                                           const EnvironmentRecord* environment, DeviceKind kind);

/// Returns the existing devices that a request names, without duplicates and without attached
/// devices.
std::vector<const TableDevice*> namedDevices(const AttachRequest& request,
                                             const DeviceTable& devices,
                                             const EnvironmentRecord* environment);

/// Selects the devices for a request, except those that are reserved for others. Over-subscription
/// takes devices of one's own first, then those of consenting holders, then the others. `leaseEnd`
/// is unset if the request has no lease. Throws Error: NoSuchDevice, NotEnoughDevices (more than
/// the machine has), DeviceUnavailable (others hold the devices, or wait for them), InvalidArgs.
Placement place(const AttachRequest& request, const DeviceTable& devices,
                const Requester& requester, const Reservations& reservations = {},
                std::optional<BootTime> leaseEnd = std::nullopt);

/// The same, but returns nothing where place() throws DeviceUnavailable. After each change, most
/// requests in the queue get nothing, and nobody reads why.
std::optional<Placement> placeIfAvailable(const AttachRequest& request, const DeviceTable& devices,
                                          const Requester& requester,
                                          const Reservations& reservations = {},
                                          std::optional<BootTime> leaseEnd = std::nullopt);

/// Returns the plan for a request that may wait. Throws the same errors as place(), but
/// DeviceUnavailable only if waiting cannot help.
Plan placeOrWait(const AttachRequest& request, const DeviceTable& devices,
                 const Requester& requester, const Reservations& reservations,
                 std::optional<BootTime> leaseEnd = std::nullopt);

/// Returns how many of the requested devices an environment lacks.
std::size_t missing(const AttachRequest& request, const EnvironmentRecord& environment);

/// Returns whether a plan that was computed before still has exactly the same effect with the
/// current table, and over-subscribes nobody without consent who did consent before. A plan to wait
/// is valid for as long as the attachments of its environment are the same.
bool stillHolds(const Plan& plan, const DeviceTable& devices, const Requester& requester,
                const Reservations& reservations = {},
                std::optional<BootTime> leaseEnd = std::nullopt);

} // namespace genv::core
