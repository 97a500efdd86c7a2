// SPDX-License-Identifier: LGPL-2.1-or-later
// The administrator's settings, with their defaults. The service reads them from files.
#pragma once

#include "core/model/device.hpp"
#include "core/placement/fair_order.hpp"
#include "core/settings/limits.hpp"
#include "core/settings/rule_definitions.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// The source of GPU data.
enum class Backend {
    Auto, ///< Simulated if GENV_MOCK_DEVICE_COUNT or GENV_DEVICES is set, else Nvml
    Nvml,
    Simulated,
};

/// How the kernel treats opens of GPUs that a user does not hold.
enum class IsolationMode {
    None,
    Watch, ///< count the attempts
    User,  ///< refuse to open the device
};

/// Formats a mode as genvd.conf and the bus do: "none", "watch", "user".
std::string toString(IsolationMode mode);

/// [Isolation]. Exempt users are stored by name; the user database maps them to uids.
struct IsolationSettings {
    IsolationMode mode = IsolationMode::None;
    bool exemptSystem = true; ///< system users, by the uid ranges of the distributions
    std::vector<std::string> exemptUsers;
    bool dockerUser = false; ///< run containers with GPUs as their user, with genv's docker
    std::vector<DeviceUuid> openDevices; ///< for everybody, such as the GPU of a display
    bool renderNodes = false;            ///< guard the DRM nodes of GPUs, too; stops desktops

    friend bool operator==(const IsolationSettings&, const IsolationSettings&) = default;
};

/// The devices that are reserved for Slurm: none, all, or these.
struct SlurmDevices {
    bool all = false;
    std::vector<DeviceUuid> uuids; ///< if not all are reserved

    [[nodiscard]] bool contains(const DeviceUuid& uuid) const;
    [[nodiscard]] bool empty() const { return !all && uuids.empty(); }

    friend bool operator==(const SlurmDevices&, const SlurmDevices&) = default;
};

/// The action on a Slurm job that does not use its devices for longer than IdleTimeout=.
enum class SlurmIdleAction {
    Warn,    ///< notify its owner
    Cancel,  ///< also cancel it
    Requeue, ///< also put it back into Slurm's queue
};

/// Formats an action as genvd.conf does: "warn", "cancel", "requeue".
std::string toString(SlurmIdleAction action);

/// [Slurm].
struct SlurmSettings {
    SlurmDevices devices;
    SlurmIdleAction idleAction = SlurmIdleAction::Warn;
    std::string binDir = "/usr/bin"; ///< the directory of Slurm's programs

    friend bool operator==(const SlurmSettings&, const SlurmSettings&) = default;
};

/// The action of the rule idle-timeout on the devices of an environment that is no Slurm job's.
enum class IdleAction {
    Detach,
    Park, ///< park the environment, while somebody waits for these devices
};

/// Formats an action as genvd.conf does: "detach", "park".
std::string toString(IdleAction action);

/// An amount of host memory, or a part of the machine's.
struct MemoryPart {
    std::optional<std::uint32_t> percent; ///< of the machine's memory
    Bytes bytes;                          ///< without `percent`

    [[nodiscard]] Bytes of(Bytes total) const;

    friend bool operator==(const MemoryPart&, const MemoryPart&) = default;
};

/// [Parking].
struct ParkingSettings {
    bool enable = true;
    MemoryPart keepMemory{10, Bytes{0}};   ///< host memory that parking never takes
    std::optional<Bytes> maxMemory;        ///< of all parked environments; unset: no limit
    std::optional<Bytes> maxMemoryPerUser; ///< of a user's
    std::chrono::milliseconds lockTimeout{10'000};
    std::chrono::milliseconds maxParkedTime{std::chrono::hours{24}};
    bool multiGpu = false; ///< park processes that use more than one GPU
    // For others:
    bool withoutIsolation = false; ///< park environments for others without Isolation=user
    bool atLeaseEnd = false;       ///< park an environment whose lease ends
    /// How long a preemptible environment keeps its devices from another one; unset: for ever.
    std::optional<std::chrono::milliseconds> turn;
    std::chrono::milliseconds timeout{120'000}; ///< of parking environments for a request

    friend bool operator==(const ParkingSettings&, const ParkingSettings&) = default;
};

/// All settings.
struct Settings {
    Backend backend = Backend::Auto; ///< takes effect only at start
    /// The memory of devices that share the machine's memory; unset: all of it.
    std::optional<Bytes> unifiedMemory;

    // [Enforcement]
    std::chrono::milliseconds interval{
        10'000}; ///< how often the GPUs are sampled and the rules evaluated
    RuleSwitches rules;
    std::chrono::milliseconds grace{30'000};     ///< from the warning to the action
    std::chrono::milliseconds killAfter{10'000}; ///< from SIGTERM to SIGKILL
    IdleAction idleAction = IdleAction::Detach;
    bool linger = true;     ///< environments keep the devices that their processes still use
    bool keepGrants = true; ///< a limit that is lowered spares what was granted before
    bool dryRun = false;    ///< the service's own cycles only report what they would do

    // [Queue]
    std::chrono::milliseconds maxWait{86'400'000}; ///< maximum waiting time of a request
    /// How long a holder without a lease is assumed to stay, counted from each computation.
    std::chrono::milliseconds keepFor{3'600'000};
    QueueOrder order = QueueOrder::Fifo;
    std::chrono::milliseconds halfLife{std::chrono::hours{7 * 24}}; ///< of a user's use
    std::uint32_t maxOvertaking = 20; ///< how often a user's first request can be overtaken
    std::chrono::milliseconds maxFirst{std::chrono::hours{1}}; ///< and for how long

    IsolationSettings isolation;
    SlurmSettings slurm;
    ParkingSettings parking;

    LimitTable limits; ///< [Limits], [User NAME], [Group NAME]

    friend bool operator==(const Settings&, const Settings&) = default;
};

/// Describes, in a sentence, the processes that keep a GPU which their user no longer holds:
/// isolation cannot revoke an open device, and with these settings no rule ends the process. Empty
/// if there are none.
std::string gapOfIsolation(const Settings& settings);

} // namespace genv::core
