// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts events to the times in which environments were parked: from `parked` until the device is
// attached again, or the environment has ended. Parked time is no held time.
#pragma once

#include "client/genvctl/reports/usage_report.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::ctl {

/// The time in which a parked environment did without a device.
struct ParkedTime {
    std::string environment;
    std::string uuid;
    std::optional<std::uint32_t> uid;
    std::string user;
    Time begin;
    Time end;
    bool isTaken = false; ///< it was parked for another request
};

/// Processes the events, oldest first, and returns all times.
class ParkedTimes {
  public:
    void add(const HistoryEvent& event);
    /// Ends the times that go on: now, if the environment is parked now, else with its last event,
    /// because the machine has crashed. Call it once, after all events.
    std::vector<ParkedTime> finish(const std::vector<std::string>& parkedNow, Time now);

  private:
    using Key = std::pair<std::string, std::string>; // environment, device

    void close(const Key& key, Time end);

    std::map<Key, ParkedTime> open_;
    std::vector<ParkedTime> closed_;
};

} // namespace genv::ctl
