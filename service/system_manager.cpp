// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/system_manager.hpp"

#include "core/base/text.hpp"
#include "service/loop/glib_loop.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace genv::service {

SystemManager::SystemManager() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0)
        return;
    const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds{microseconds});
    watchdog_ = GlibLoop::every(interval / 2, [] { sd_notify(0, "WATCHDOG=1"); });
}

void SystemManager::ready(const std::string& status) {
    sd_notify(0, fmt::format("READY=1\nSTATUS={}", status).c_str());
}

void SystemManager::reloading() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const auto microseconds =
        std::uint64_t(now.tv_sec) * 1'000'000 + std::uint64_t(now.tv_nsec) / 1'000;
    sd_notify(0, fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reloading the configuration",
                             microseconds)
                     .c_str());
}

void SystemManager::status(const std::string& status) {
    sd_notify(0, ("STATUS=" + core::printable(status)).c_str());
}

void SystemManager::failed(const std::string& why) {
    constexpr std::uint64_t timeoutMicroseconds = 2'000'000;
    sd_notify(0, ("STATUS=" + core::printable(why)).c_str());
    // systemd ignores notifications from a process that has exited.
    sd_notify_barrier(0, timeoutMicroseconds);
}

void SystemManager::stopping() {
    sd_notify(0, "STOPPING=1\nSTATUS=Stopping");
}

} // namespace genv::service
