// SPDX-License-Identifier: LGPL-2.1-or-later
// The parking of an environment, as its state document holds it. The memory of its processes on
// GPUs moves to host memory, its devices become free, and later the processes go on where they
// were. The document has each step before it is taken; what a process really is at, the driver
// says.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/model/attach_request.hpp"
#include "core/model/device.hpp"
#include "core/model/environment_id.hpp"
#include "core/model/lease.hpp"
#include "core/model/reason.hpp"
#include "core/ports/processes.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// The step of a parking. An environment without one is active.
enum class ParkingStep {
    Parking,  ///< its processes move to host memory, and it holds its devices
    Parked,   ///< its devices are detached
    Resuming, ///< it has its devices again, and its processes move back
    Undoing,  ///< parking failed or was canceled: its processes move back, and it holds its devices
    Ending,   ///< it was ended while it was parked, and exists until its processes have ended
};

/// The memory of a process on a device, before it moved.
struct ParkedUse {
    DeviceUuid device;
    Bytes bytes;

    friend bool operator==(const ParkedUse&, const ParkedUse&) = default;
};

/// A process that is parked, is being parked, or resumes.
struct ParkedProcess {
    ProcessIdentity identity;
    std::string command; ///< its name, which the process can choose itself
    ProcessUids uids;
    std::vector<ParkedUse> uses;
    std::shared_ptr<const ProcessPin> pin = {};

    [[nodiscard]] Bytes bytes() const;
    [[nodiscard]] bool isOn(const DeviceUuid& device) const;

    friend bool operator==(const ParkedProcess& a, const ParkedProcess& b) {
        return a.identity == b.identity && a.command == b.command && a.uids == b.uids &&
               a.uses == b.uses;
    }
};

/// A device that a parked environment gave up and gets back when it resumes.
struct ReleasedDevice {
    DeviceFacts device; ///< when it was detached
    std::optional<Bytes> share;
    bool exempt = false;
    bool overLimit = false;
    std::optional<Lease> lease; ///< stands still since the devices were detached

    friend bool operator==(const ReleasedDevice&, const ReleasedDevice&) = default;
};

/// The request for which an environment is parked.
struct Taker {
    std::uint64_t ticket = 0;
    EnvironmentId environment;
    Uid uid = 0;
    std::string user; ///< the name of its owner

    friend bool operator==(const Taker&, const Taker&) = default;
};

/// Why an environment is parked.
struct ParkOptions {
    std::optional<Taker> taker = {};   ///< set if it is parked for another's request
    std::optional<Reason> reason = {}; ///< unset: its user, or an administrator, asked for it
};

struct Parking {
    ParkingStep step = ParkingStep::Parking;
    std::string reason; ///< of the parking, or why it ends with ParkingStep::Ending
    Actor actor = {};   ///< the user who asked for it
    WallTime since;     ///< when it was parked; before that, when parking began
    BootTime began;     ///< `since` on the boot clock, which cannot be set
    std::vector<ParkedProcess> processes;
    std::vector<ReleasedDevice> devices; ///< empty while the environment holds them
    std::optional<Lease> lease;          ///< the environment's, which stands still
    std::optional<Taker> taker = {};     ///< set if it is parked for another's request

    [[nodiscard]] const ParkedProcess* find(const ProcessIdentity& process) const;
    [[nodiscard]] const ReleasedDevice* find(const DeviceUuid& device) const;
    /// Returns the memory of all its processes, or of those on a device.
    [[nodiscard]] Bytes bytes() const;
    [[nodiscard]] Bytes bytesOn(const DeviceUuid& device) const;

    friend bool operator==(const Parking&, const Parking&) = default;
};

/// Returns the request for the devices of a parked environment.
AttachRequest requestToResume(const Parking& parking);

} // namespace genv::core
