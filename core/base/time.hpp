// SPDX-License-Identifier: LGPL-2.1-or-later
// The two kinds of time in genv. Wall time is displayed and stored. Boot time is used for
// decisions, because setting the clock must neither end a lease nor extend it.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace genv::core {

/// A moment on the wall clock, in microseconds since the epoch.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// Time since boot, including suspend (CLOCK_BOOTTIME). This is only a tag; the moments come from
/// the Clock port.
struct BootClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = std::chrono::microseconds;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

/// Returns the microseconds since the epoch, the form of a WallTime on D-Bus and in the state
/// documents.
constexpr std::uint64_t toMicroseconds(WallTime time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

/// The reverse of toMicroseconds().
constexpr WallTime fromMicroseconds(std::uint64_t microseconds) {
    return WallTime{std::chrono::microseconds{static_cast<std::int64_t>(microseconds)}};
}

/// Returns a time in the machine's time zone, without fractions of a second.
std::tm localTime(WallTime time);

/// Formats a time for lists and messages: `%d/%m/%Y %H:%M:%S` in the machine's time zone.
std::string formatLocalTime(WallTime time);

} // namespace genv::core
