// SPDX-License-Identifier: LGPL-2.1-or-later
// What an administrator may set, with its defaults. Reading it from files is the service's.
#pragma once

#include "core/device.hpp"
#include "core/limits.hpp"
#include "core/rule_definitions.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace genv::core {

/// Which source of GPUs is used.
enum class Backend {
    Auto, ///< the simulated one where GENV_MOCK_DEVICE_COUNT or GENV_DEVICES is set, else NVML
    Nvml,
    Simulated,
};

/// What the kernel does about GPUs that their users do not hold.
enum class IsolationMode {
    None,
    Watch, ///< it counts users who open one
    User,  ///< it refuses to open one
};

/// As genvd.conf and the bus write it: "none", "watch", "user".
std::string toString(IsolationMode mode);

/// [Isolation]. Who is exempt is a name here; whose uid that is, the user database says.
struct IsolationSettings {
    IsolationMode mode = IsolationMode::None;
    bool exemptSystem = true; ///< system users, by the ranges of uids that distributions keep
    std::vector<std::string> exemptUsers;
    bool dockerUser = false; ///< containers with GPUs run as their user, by genv's docker
    std::vector<DeviceUuid> openDevices; ///< for everybody, such as the GPU of a display

    friend bool operator==(const IsolationSettings&, const IsolationSettings&) = default;
};

/// The devices that are Slurm's: none, all, or these.
struct SlurmDevices {
    bool all = false;
    std::vector<DeviceUuid> uuids; ///< where not all are

    [[nodiscard]] bool contains(const DeviceUuid& uuid) const;
    [[nodiscard]] bool empty() const { return !all && uuids.empty(); }

    friend bool operator==(const SlurmDevices&, const SlurmDevices&) = default;
};

/// What happens to a Slurm job that does not use its devices for longer than IdleTimeout=.
enum class SlurmIdleAction {
    Warn,    ///< its owner hears of it
    Cancel,  ///< and it is cancelled
    Requeue, ///< and it is put back into Slurm's queue
};

/// As genvd.conf writes it: "warn", "cancel", "requeue".
std::string toString(SlurmIdleAction action);

/// [Slurm].
struct SlurmSettings {
    SlurmDevices devices;
    SlurmIdleAction idleAction = SlurmIdleAction::Warn;
    std::string binDir = "/usr/bin"; ///< where Slurm's programs are

    friend bool operator==(const SlurmSettings&, const SlurmSettings&) = default;
};

/// What an administrator may set.
struct Settings {
    Backend backend = Backend::Auto; ///< takes effect at start only

    // [Enforcement]
    std::chrono::milliseconds interval{
        10'000}; ///< how often the GPUs are looked at and the rules evaluated
    RuleSwitches rules;
    std::chrono::milliseconds grace{30'000};     ///< from the warning to the act
    std::chrono::milliseconds killAfter{10'000}; ///< from SIGTERM to SIGKILL
    bool linger = true;  ///< an environment keeps the devices that its processes still use
    bool dryRun = false; ///< the service's own cycles say what they would do, and do nothing

    // [Queue]
    std::chrono::milliseconds maxWait{86'400'000}; ///< how long a request waits at most
    /// How long a holder without a lease is reckoned to stay, whenever somebody reckons.
    std::chrono::milliseconds keepFor{3'600'000};

    IsolationSettings isolation;
    SlurmSettings slurm;

    LimitTable limits; ///< [Limits], [User NAME], [Group NAME]

    friend bool operator==(const Settings&, const Settings&) = default;
};

/// Which processes keep a GPU that their user no longer holds, as a sentence: isolation cannot take
/// an open device away, and these settings let no rule end the process. Empty if there are none.
std::string gapOfIsolation(const Settings& settings);

} // namespace genv::core
