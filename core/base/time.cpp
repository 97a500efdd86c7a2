// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/time.hpp"

#include <fmt/chrono.h>

namespace genv::core {

std::tm localTime(WallTime time) {
    const std::time_t seconds =
        std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
    std::tm local{};
    localtime_r(&seconds, &local);
    return local;
}

std::string formatLocalTime(WallTime time) {
    return fmt::format("{:%d/%m/%Y %H:%M:%S}", localTime(time));
}

} // namespace genv::core
