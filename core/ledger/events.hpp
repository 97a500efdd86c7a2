// SPDX-License-Identifier: LGPL-2.1-or-later
// The events that the ledger emits once a change is made. The bus, the journal and the parts that
// react to changes subscribe to them. The domain objects do not know their subscribers.
#pragma once

#include "core/model/environment.hpp"
#include "core/model/reason.hpp"
#include "core/settings/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace genv::core {

struct EnvironmentAdded {
    EnvironmentId environment;
    Uid owner = 0;
    Cause cause;
};

struct EnvironmentRemoved {
    EnvironmentId environment;
    Uid owner = 0;
    Cause cause;
    const EnvironmentRecord* former; ///< the environment before it ended; valid during the event
};

/// The last registered process of an environment exited, and the end of the environment is pending.
/// The environment holds devices, and the next sample shows whether its compute processes still use
/// them.
struct EnvironmentEnding {
    EnvironmentId environment;
    Uid owner = 0;
};

/// An environment has been lingering for a while.
struct EnvironmentLingers {
    EnvironmentId environment;
    Uid owner = 0;
    std::vector<Pid> processes;       ///< the processes that keep it alive, ascending
    std::vector<DeviceFacts> devices; ///< the devices that it keeps, by index
};

/// The part of an environment that changed.
enum class EnvironmentField {
    Name,
    Gpus,
    GpuMemory,
    OverSubscribable,
    Preemptible, ///< also whether parking it for others failed
    Processes,
    JupyterKernels,
    Devices,
    Attached, ///< the devices, or the end of one of their leases
    Expires,
    Lingering,
    Parking, ///< its step, processes or devices
    ParkingProgress,
    ParkingProblem,
};

struct EnvironmentChanged {
    EnvironmentId environment;
    EnvironmentField field;
};

/// A device was attached to an environment.
struct Attached {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceAttachment attachment;
    Cause cause;
};

/// A device was detached from an environment.
struct Detached {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceAttachment attachment;
    Cause cause;
    const EnvironmentRecord* former; ///< the environment before the change; valid during the event
};

struct DeviceAdded {
    DeviceIndex index = 0;
};

struct DeviceRemoved {
    DeviceIndex index = 0;
    DeviceFacts facts{}; ///< its facts before it was removed
};

/// The part of a device that changed. Other readings have no events, since they change with every
/// sample.
enum class DeviceField {
    Model,
    TotalMemory,
    Attachments,
    LockedBy,
    Health,
    ReservedFor,
    PciAddress,
    OutsideUse, ///< whether something outside genv uses it, or how much memory is unaccounted for
};

struct DeviceChanged {
    DeviceIndex index = 0;
    DeviceField field;
};

/// A compute process was sent SIGTERM.
struct ProcessTerminated {
    Pid pid = 0;
    std::string command; ///< its name, which the process can choose itself
    Uid owner = 0;
    std::optional<EnvironmentId> environment;
    std::vector<DeviceIndex> devices;
    Cause cause;
};

/// A rule is about to act on a user's processes or devices.
struct RuleWarning {
    Uid user = 0;
    std::optional<EnvironmentId> environment;
    std::string rule;
    std::string message; ///< description of the violation
    std::chrono::milliseconds remaining{0};
};

/// An environment uses nearly all of its share of a device's memory, or exceeds it.
struct MemoryFilling {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    Bytes used;
    Bytes share;
};

/// The set of requests that wait for devices changed.
struct QueueChanged {};

/// A request began to wait for devices.
struct WaitStarted {
    EnvironmentId environment;
    Uid owner = 0;
    Actor actor = {};      ///< the user who made the request
    std::size_t count = 0; ///< number of missing devices
    WallTime since;
};

/// A waiting request got its devices.
struct WaitGranted {
    EnvironmentId environment;
    Uid owner = 0;
    std::vector<DeviceFacts> devices; ///< the new devices
    std::chrono::microseconds waited{0};
    Actor actor = {}; ///< the user who made the request
    WallTime since{};
    bool lasted = true; ///< false if it was served immediately, which is not reported
};

/// A wait ended without a grant.
struct WaitEnded {
    EnvironmentId environment;
    Uid owner = 0;
    Cause cause;
    std::size_t count = 0; ///< number of missing devices
    WallTime since;
    std::chrono::microseconds waited{0};
    const EnvironmentRecord* former; ///< the environment before the change; valid during the event
};

/// An attachment is in use. It was idle before, or its use was unknown.
struct AttachmentInUse {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    WallTime since; ///< when the use was observed
};

/// An attachment has not been used for a while.
struct AttachmentIdle {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    WallTime since; ///< when it was last observed in use
};

/// A lease ends soon.
struct LeaseEnding {
    EnvironmentId environment;
    Uid owner = 0;
    std::optional<DeviceFacts> device; ///< unset: the lease of the whole environment
    std::chrono::milliseconds remaining{0};
};

/// The isolation mode in force changed.
struct IsolationChanged {
    IsolationMode inForce = IsolationMode::None;
    bool isSuspended = false;
    std::optional<Actor> actor; ///< the person who suspended isolation or ended the suspension
};

/// The kernel refused to open a device that the user does not hold. In watch mode it only counted
/// the attempt.
struct AccessRefused {
    Uid user = 0;
    DeviceFacts device;
    std::uint64_t count = 0; ///< since the last event for this user and device
    Pid pid = 0;             ///< the last process that tried
    std::string command;     ///< its name, which the process can choose itself
    bool isRefused = true;   ///< false if isolation only watches
};

/// An environment was parked.
struct EnvironmentParked {
    EnvironmentId environment;
    Uid owner = 0;
    Actor actor = {};
    std::string reason;               ///< as in Parking::reason
    std::vector<DeviceFacts> devices; ///< that it gave up
    Bytes memory;                     ///< that moved to the host
    std::chrono::microseconds took{0};
    std::optional<Taker> taker = {}; ///< set if it was parked for another's request
};

/// A preemptible environment that is to be parked for a request.
struct TakingVictim {
    EnvironmentId environment;
    std::string name; ///< empty if it has none
    Uid uid = 0;
    std::string user;
    std::vector<DeviceFacts> devices; ///< that it holds
    Bytes bytes;                      ///< to move, as of the last sample
};

/// Preemptible environments begin to be parked for a waiting request.
struct TakingBegan {
    std::uint64_t ticket = 0;
    EnvironmentId environment; ///< of the request
    Uid owner = 0;
    Actor actor = {}; ///< the user who made the request
    std::vector<TakingVictim> victims;
    std::chrono::milliseconds estimate{0};
    BootTime deadline{};
};

/// A taking is over. Victims that are parked, and did not have to be, go on.
struct TakingEnded {
    std::uint64_t ticket = 0;
    EnvironmentId environment;
    Uid owner = 0;
    std::string why; ///< empty: the request got its devices
};

/// A preemptible environment that cannot be parked ends soon, for another request.
struct LoanEnding {
    EnvironmentId environment;
    Uid owner = 0;
    Taker taker;
    std::chrono::milliseconds grace{0};
};

/// A parked environment has its devices again, and its processes go on.
struct EnvironmentResumed {
    EnvironmentId environment;
    Uid owner = 0;
    std::vector<DeviceFacts> devices;
    std::chrono::microseconds parked{0}; ///< how long its devices were detached
};

/// An environment could not be parked. Its processes go on, or resume as soon as they can.
struct ParkingFailed {
    EnvironmentId environment;
    Uid owner = 0;
    Actor actor = {};
    std::string problem;     ///< with the remedy
    std::string reason = {}; ///< why it was to be parked, as in Parking::reason
};

/// Something is in the way of processes that are to go on.
struct ResumeDelayed {
    EnvironmentId environment;
    Uid owner = 0;
    std::string problem;
};

/// The driver did not restore a parked process. It stays where it is and cannot go on.
struct ProcessLost {
    EnvironmentId environment;
    Uid owner = 0;
    Pid pid = 0;
    std::string command; ///< its name, which the process can choose itself
    std::string problem;
};

/// An environment has been parked for MaxParkedTime, and ends soon.
struct ParkedTooLong {
    EnvironmentId environment;
    Uid owner = 0;
    std::chrono::milliseconds remaining{0};
};

using Event =
    std::variant<EnvironmentParked, EnvironmentResumed, ParkingFailed, ResumeDelayed, ProcessLost,
                 ParkedTooLong, TakingBegan, TakingEnded, LoanEnding, EnvironmentAdded,
                 EnvironmentRemoved, EnvironmentEnding, EnvironmentLingers, EnvironmentChanged,
                 Attached, Detached, DeviceAdded, DeviceRemoved, DeviceChanged, ProcessTerminated,
                 RuleWarning, MemoryFilling, QueueChanged, WaitStarted, WaitGranted, WaitEnded,
                 LeaseEnding, AttachmentInUse, AttachmentIdle, IsolationChanged, AccessRefused>;

/// A callback that receives every event, right after the change. It must not change the ledger.
using EventListener = std::function<void(const Event&)>;

/// Distributes events to the listeners.
class EventHub {
  public:
    /// Adds a listener for the lifetime of the hub. Listeners are called in the order in which they
    /// were added.
    void subscribe(EventListener listener) { listeners_.push_back(std::move(listener)); }

    void emit(const Event& event) const {
        for (const EventListener& listener : listeners_)
            listener(event);
    }

  private:
    std::vector<EventListener> listeners_;
};

} // namespace genv::core
