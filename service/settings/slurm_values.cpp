// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/slurm_values.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

namespace genv::service {

namespace {

using core::ErrorCode;
using core::fail;
using core::SlurmIdleAction;

constexpr std::string_view none = "none";
constexpr std::string_view all = "all";
constexpr std::size_t maxPathLength = 1024;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string requireUuid(std::string_view text) {
    if (!isDeviceUuid(text) || !(text.starts_with("GPU-") || text.starts_with("MIG-")))
        fail(ErrorCode::InvalidArgs,
             "invalid value \"{}\": expected none, all, or UUIDs such as `genvctl devices --json` "
             "prints them, separated by commas",
             core::escaped(text));
    return std::string(text);
}

} // namespace

core::SlurmDevices readSlurmDevices(const std::string& value) {
    if (value == none)
        return {};
    if (value == all)
        return {true, {}};
    core::SlurmDevices devices;
    std::string_view rest = value;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
        comma = rest.find(',');
        devices.uuids.push_back(requireUuid(trimmed(rest.substr(0, comma))));
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    return devices;
}

std::string writeSlurmDevices(const core::SlurmDevices& devices) {
    if (devices.all)
        return std::string(all);
    return devices.uuids.empty() ? std::string(none)
                                 : fmt::format("{}", fmt::join(devices.uuids, ","));
}

SlurmIdleAction readSlurmIdleAction(const std::string& value) {
    for (const SlurmIdleAction action :
         {SlurmIdleAction::Warn, SlurmIdleAction::Cancel, SlurmIdleAction::Requeue}) {
        if (value == core::toString(action))
            return action;
    }
    fail(ErrorCode::InvalidArgs, "invalid action \"{}\": expected warn, cancel or requeue",
         core::escaped(value));
}

std::string readSlurmBinDir(const std::string& value) {
    const std::filesystem::path path(value);
    const bool isPlain =
        value.size() <= maxPathLength && std::ranges::all_of(value, [](unsigned char c) {
            return c > ' ' && c < 0x7f; // characters that logs and command lines show unchanged
        });
    if (!isPlain || !path.is_absolute() || path.lexically_normal().string() != value)
        fail(ErrorCode::InvalidArgs,
             "invalid path \"{}\": expected an absolute path without \"..\", such as /usr/bin",
             core::escaped(value));
    return value;
}

} // namespace genv::service
