// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports devices that the kernel refused to users. The kernel counts the attempts, so a user who
// tries a million times wakes no process. The counters are read periodically, and each user is
// notified about a device at most once a minute. A store keeps how much was reported, so that a
// restart of the service neither loses an attempt nor reports one again.
#pragma once

#include "core/isolation/isolation.hpp"
#include "core/ledger/events.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/gates.hpp"
#include "core/ports/reported_opens.hpp"

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
    RefusalWatch(const Isolation& isolation, Gates& gates, ReportedOpensStore& store,
                 const EventHub& events, const Clock& clock)
        : isolation_(isolation), gates_(gates), store_(store), events_(events), clock_(clock) {}

    /// Reads the kernel's counters and emits the events that are due.
    void check() { report(refusalSilence); }
    /// Reads the kernel's counters and emits an event for everything that was not reported, such as
    /// before the end of the service.
    void reportAll() { report(std::chrono::minutes{0}); }
    /// Returns the kernel's counters since boot, the last attempt first: those of refused opens or,
    /// if isolation is configured to watch only, those of watched opens.
    [[nodiscard]] std::vector<CountedOpens> list() const;
    /// Returns how often a device was refused to any user, or opened by one without a grant in
    /// Watch mode, since the service started.
    [[nodiscard]] std::uint64_t countOf(const DeviceUuid& device) const;

  private:
    using Key = std::pair<Uid, DeviceNode>;
    struct Counter {
        OpenCounts known; ///< at the last reading
        OpenCounts reported;
    };
    /// The attempts of a user that were not reported, for a device, which may have several nodes.
    struct News {
        AccessRefused last; ///< the last attempt
        BootTime at{};      ///< its time
        OpenCounts counts;
        std::vector<Counter*> counters;
    };
    using NewsOfAll = std::map<std::pair<Uid, DeviceUuid>, News>;

    /// Returns nothing if the kernel does not report them.
    [[nodiscard]] std::optional<std::vector<RefusedOpens>> read() const;
    void report(std::chrono::minutes silence);
    void resume(const std::vector<RefusedOpens>& all);
    void take(const RefusedOpens& refusals, NewsOfAll& news);
    void emit(const News& news) const;
    void store();

    const Isolation& isolation_;
    Gates& gates_;
    ReportedOpensStore& store_;
    const EventHub& events_;
    const Clock& clock_;
    std::map<Key, Counter> counters_;
    std::map<std::pair<Uid, DeviceUuid>, BootTime> reportedAt_; ///< those in silence
    std::map<DeviceUuid, std::uint64_t> totals_;
    bool hasRead_ = false; ///< the counters from before the start are known
};

} // namespace genv::core
