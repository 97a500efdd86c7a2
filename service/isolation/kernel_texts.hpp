// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the files of /proc that the loader needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace genv::service::isolation {

/// Returns where the root of the version 2 control groups is mounted, according to
/// /proc/self/mountinfo. Version 1 may be mounted as well. Returns nothing if only a part of the
/// tree is mounted, as in a container.
std::optional<std::filesystem::path> findControlGroups(const std::string& mountinfo);

/// Returns the major number of a driver's character devices, according to /proc/devices.
std::optional<std::uint32_t> findCharacterMajor(const std::string& devices,
                                                std::string_view driver);

} // namespace genv::service::isolation
