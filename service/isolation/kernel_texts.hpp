// SPDX-License-Identifier: LGPL-2.1-or-later
// What files of /proc say that the loader needs to know.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace genv::service::isolation {

/// Where the root of the control groups of version 2 is mounted, from /proc/self/mountinfo: alone
/// or beside version 1. Nothing if only a part of them is, as in a container.
std::optional<std::filesystem::path> findControlGroups(const std::string& mountinfo);

/// The major number of a driver's character devices, from /proc/devices.
std::optional<std::uint32_t> findCharacterMajor(const std::string& devices,
                                                std::string_view driver);

} // namespace genv::service::isolation
