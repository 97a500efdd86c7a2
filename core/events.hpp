// SPDX-License-Identifier: LGPL-2.1-or-later
// What the ledger tells once a change is made. The bus, the journal and whatever acts on changes
// subscribe; no domain object knows them.
#pragma once

#include "core/environment.hpp"
#include "core/reason.hpp"
#include "core/settings.hpp"

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
    const Environment* former; ///< the environment as it was; valid while the event is told
};

/// The last registered process of an environment went, and its end is pending: it holds devices,
/// and a sample has yet to say whether its compute processes still use them.
struct EnvironmentEnding {
    EnvironmentId environment;
    Uid owner = 0;
};

/// An environment has lingered for a while.
struct EnvironmentLingers {
    EnvironmentId environment;
    Uid owner = 0;
    std::vector<Pid> processes;       ///< that keep it, ascending
    std::vector<DeviceFacts> devices; ///< that it keeps, by index
};

/// The part of an environment that changed.
enum class EnvironmentField {
    Name,
    Gpus,
    GpuMemory,
    Processes,
    Kernels,
    Devices,
    Attached, ///< the devices, or when one of their leases ends
    Expires,
    Lingering,
};

struct EnvironmentChanged {
    EnvironmentId environment;
    EnvironmentField field;
};

/// An environment got a device.
struct Attached {
    EnvironmentId environment;
    Uid owner = 0;
    Attachment attachment;
    Cause cause;
};

/// An environment lost or gave back a device.
struct Detached {
    EnvironmentId environment;
    Uid owner = 0;
    Attachment attachment;
    Cause cause;
    const Environment* former; ///< the environment as it was; valid while the event is told
};

struct DeviceAdded {
    DeviceIndex index = 0;
};

struct DeviceRemoved {
    DeviceIndex index = 0;
    DeviceFacts facts{}; ///< what it was
};

/// The part of a device that changed. Readings are not told: they change with every sample.
enum class DeviceField {
    Model,
    TotalMemory,
    Attachments,
    LockedBy,
    Health,
    ReservedFor,
    PciAddress,
};

struct DeviceChanged {
    DeviceIndex index = 0;
    DeviceField field;
};

/// A compute process was sent SIGTERM.
struct ProcessTerminated {
    Pid pid = 0;
    std::string command; ///< its name, as the process chose it
    Uid owner = 0;
    std::optional<EnvironmentId> environment;
    std::vector<DeviceIndex> devices;
    Cause cause;
};

/// A rule will act against somebody soon.
struct RuleWarning {
    Uid user = 0;
    std::optional<EnvironmentId> environment;
    std::string rule;
    std::string message; ///< the violation
    std::chrono::milliseconds left{0};
};

/// An environment uses nearly all of its share of a device's memory, or more than that.
struct MemoryFilling {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    Bytes used;
    Bytes share;
};

/// Who waits for devices changed.
struct QueueChanged {};

/// Somebody began to wait for devices.
struct WaitStarted {
    EnvironmentId environment;
    Uid owner = 0;
    Actor actor = {};      ///< who asked
    std::size_t count = 0; ///< how many devices are missing
    WallTime since;
};

/// Somebody got the devices that they waited for.
struct WaitGranted {
    EnvironmentId environment;
    Uid owner = 0;
    std::vector<DeviceFacts> devices; ///< what came
    std::chrono::microseconds waited{0};
    Actor actor = {}; ///< who asked
    WallTime since{};
    bool lasted = true; ///< false: it was served at once, which is no news
};

/// A wait ended, and nothing came of it.
struct WaitEnded {
    EnvironmentId environment;
    Uid owner = 0;
    Cause cause;
    std::size_t count = 0; ///< how many devices were missing
    WallTime since;
    std::chrono::microseconds waited{0};
    const Environment* former; ///< the environment as it was; valid while the event is told
};

/// An attachment is in use now, and was idle or not known before.
struct AttachmentInUse {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    WallTime since; ///< when that was seen
};

/// An attachment has not been used for a while.
struct AttachmentIdle {
    EnvironmentId environment;
    Uid owner = 0;
    DeviceFacts device;
    WallTime since; ///< when it was last seen in use
};

/// A lease ends soon.
struct LeaseEnding {
    EnvironmentId environment;
    Uid owner = 0;
    std::optional<DeviceFacts> device; ///< unset: the whole environment ends
    std::chrono::milliseconds left{0};
};

/// Another mode of isolation is in force.
struct IsolationChanged {
    IsolationMode inForce = IsolationMode::None;
    bool isSuspended = false;
    std::optional<Actor> actor; ///< the person who suspended it or lifted that
};

/// The kernel refused to open a device that a user does not hold, or only counted that.
struct AccessRefused {
    Uid user = 0;
    DeviceFacts device;
    std::uint64_t count = 0; ///< since it was told of this user and device last
    Pid pid = 0;             ///< of the last process
    std::string command;     ///< its name, as the process chose it
    bool isRefused = true;   ///< false: isolation only watches
};

using Event =
    std::variant<EnvironmentAdded, EnvironmentRemoved, EnvironmentEnding, EnvironmentLingers,
                 EnvironmentChanged, Attached, Detached, DeviceAdded, DeviceRemoved, DeviceChanged,
                 ProcessTerminated, RuleWarning, MemoryFilling, QueueChanged, WaitStarted,
                 WaitGranted, WaitEnded, LeaseEnding, AttachmentInUse, AttachmentIdle,
                 IsolationChanged, AccessRefused>;

/// Hears every event, right after the change it tells of. It must not change the ledger from
/// within.
using EventListener = std::function<void(const Event&)>;

/// Where changes are told, and who hears of them.
class EventHub {
  public:
    /// Adds a listener for the hub's lifetime; listeners are told in the order in which they were
    /// added.
    void subscribe(EventListener listener) { listeners_.push_back(std::move(listener)); }

    void tell(const Event& event) const {
        for (const EventListener& listener : listeners_)
            listener(event);
    }

  private:
    std::vector<EventListener> listeners_;
};

} // namespace genv::core
