// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells whom the kernel refused a device. The kernel counts, so a user who tries a million times
// wakes nobody; what it has counted is read now and then, and each user hears of a device at most
// once a minute. What was counted before the first reading is not told again.
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

/// How long a user hears nothing more of a device after a refusal was told.
inline constexpr std::chrono::minutes refusalSilence{1};

/// What the kernel has counted for a user and a node.
struct CountedOpens {
    Uid uid = 0;
    DeviceNode node;
    std::optional<DeviceIndex> device; ///< unset where no device has this node
    std::uint64_t count = 0;
    WallTime last;
    Pid pid = 0;         ///< of the last process
    std::string command; ///< its name, as the process chose it
};

class RefusalWatch {
  public:
    /// All outlive this.
    RefusalWatch(const Isolation& isolation, Gates& gates, const EventHub& events,
                 const Clock& clock)
        : isolation_(isolation), gates_(gates), events_(events), clock_(clock) {}

    /// Reads what the kernel has counted, and tells what is due.
    void check();
    /// What the kernel has counted since the machine started, the last refusal first.
    [[nodiscard]] std::vector<CountedOpens> list() const;
    /// How often a device was refused to anybody since this service started.
    [[nodiscard]] std::uint64_t countOf(const DeviceUuid& device) const;

  private:
    /// What a user has yet to hear of a device, which may have several nodes.
    struct News {
        std::uint64_t untold = 0;
        std::optional<BootTime> told;
    };
    using Key = std::pair<Uid, DeviceNode>;

    /// Nothing where the kernel does not say.
    [[nodiscard]] std::optional<std::vector<Refusals>> read() const;
    void take(const Refusals& refusals);
    void tell(const Refusals& last, const DeviceFacts& device);

    const Isolation& isolation_;
    Gates& gates_;
    const EventHub& events_;
    const Clock& clock_;
    std::map<Key, std::uint64_t> known_; ///< counts, as they were read last
    std::map<std::pair<Uid, DeviceUuid>, News> news_;
    std::map<DeviceUuid, std::uint64_t> totals_;
    bool hasRead_ = false; ///< the counts from before the start are known
};

} // namespace genv::core
