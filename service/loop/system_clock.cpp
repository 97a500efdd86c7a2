// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/loop/system_clock.hpp"

#include <ctime>

namespace genv::service {

namespace {

std::chrono::microseconds read(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds{time.tv_sec} +
           std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::nanoseconds{time.tv_nsec});
}

} // namespace

core::WallTime SystemClock::wallNow() const {
    return core::WallTime{read(CLOCK_REALTIME)};
}

core::BootTime SystemClock::bootNow() const {
    return core::BootTime{read(CLOCK_BOOTTIME)};
}

} // namespace genv::service
