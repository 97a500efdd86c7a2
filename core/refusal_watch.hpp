// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports devices that the kernel refused to users. The kernel counts the attempts, so a user who
// tries a million times wakes no process. The counters are read periodically, and each user is
// notified about a device at most once a minute. Attempts from before the first reading are not
// reported again.
#pragma once

#include "core/events.hpp"
#include "core/isolation.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/gates.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::core {

/// How long a user is not notified again about the same device.
inline constexpr std::chrono::minutes refusalSilence{1};

/// The counter of the kernel for a user and a device node.
struct CountedOpens {
    Uid uid = 0;
    std::string node;                  ///< its name, see Isolation::nameOf()
    std::optional<DeviceIndex> device; ///< unset if no device has this node
    std::uint64_t count = 0;
    WallTime last;
    Pid pid = 0;         ///< the last process that tried
    std::string command; ///< its name, which the process can choose itself
};

class RefusalWatch {
  public:
    /// All referenced objects must outlive this one.
    RefusalWatch(const Isolation& isolation, Gates& gates, const EventHub& events,
                 const Clock& clock)
        : isolation_(isolation), gates_(gates), events_(events), clock_(clock) {}

    /// Reads the kernel's counters and emits the events that are due.
    void check();
    /// Returns the kernel's counters since boot, the last refusal first.
    [[nodiscard]] std::vector<CountedOpens> list() const;
    /// Returns how often a device was refused to any user since the service started.
    [[nodiscard]] std::uint64_t countOf(const DeviceUuid& device) const;

  private:
    /// The refusals that a user was not yet notified of, for a device, which may have several
    /// nodes.
    struct News {
        std::uint64_t unreported = 0;
        std::optional<BootTime> reported;
    };
    using Key = std::pair<Uid, DeviceNode>;

    /// Returns nothing if the kernel does not report them.
    [[nodiscard]] std::optional<std::vector<Refusals>> read() const;
    void take(const Refusals& refusals);
    void emit(const Refusals& last, const DeviceFacts& device);

    const Isolation& isolation_;
    Gates& gates_;
    const EventHub& events_;
    const Clock& clock_;
    std::map<Key, std::uint64_t> known_; ///< the counters at the last reading
    std::map<std::pair<Uid, DeviceUuid>, News> news_;
    std::map<DeviceUuid, std::uint64_t> totals_;
    bool hasRead_ = false; ///< the counters from before the start are known
};

} // namespace genv::core
