// SPDX-License-Identifier: LGPL-2.1-or-later
// The two times genv knows. Wall time is told to people and written down; boot time decides,
// because a clock that is set must neither end a lease nor prolong it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace genv::core {

/// A moment people understand, in microseconds since the epoch.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// Time since boot, suspend included (CLOCK_BOOTTIME). Only a tag: the moments come from the Clock
/// port.
struct BootClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = std::chrono::microseconds;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

/// Microseconds since the epoch, as D-Bus and the state documents carry a WallTime.
constexpr std::uint64_t toMicroseconds(WallTime time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

/// The reverse of toMicroseconds().
constexpr WallTime fromMicroseconds(std::uint64_t microseconds) {
    return WallTime{std::chrono::microseconds{static_cast<std::int64_t>(microseconds)}};
}

/// As people read it in lists and messages: `%d/%m/%Y %H:%M:%S` in the machine's time zone.
std::string formatLocalTime(WallTime time);

} // namespace genv::core
