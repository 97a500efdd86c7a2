// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/time.hpp"

#include <fmt/chrono.h>

namespace genv::core {

std::string formatLocalTime(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return fmt::format("{:%d/%m/%Y %H:%M:%S}",
                       fmt::localtime(std::chrono::system_clock::to_time_t(seconds)));
}

} // namespace genv::core
