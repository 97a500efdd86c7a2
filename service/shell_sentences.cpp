// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell_sentences.hpp"

#include "core/duration.hpp"
#include "core/granted_sentence.hpp"
#include "core/text.hpp"

#include <fmt/ranges.h>

#include <string_view>

namespace genv::service {

namespace {

// What made it so.
std::string because(const core::Cause& cause, const std::string& actor, bool ofSeveral) {
    constexpr std::string_view rule = "rule:";
    const std::string_view reason = cause.reason.text();
    if (isByAdministrator(cause))
        return fmt::format("by an administrator ({})", actor);
    if (reason.substr(0, rule.size()) == rule)
        return fmt::format("by the rule {}", reason.substr(rule.size()));
    if (cause.reason == core::Reason::expired())
        return ofSeveral ? "because their lease ended" : "because its lease ended";
    if (cause.reason == core::Reason::idle())
        return "because it was idle for too long";
    if (cause.reason == core::Reason::deviceLost())
        return ofSeveral ? "because the driver no longer has them"
                         : "because the driver no longer has it";
    return fmt::format("({})", core::escaped(reason));
}

std::string name(const std::vector<core::DeviceIndex>& devices) {
    return fmt::format("GPU{} {}", devices.size() == 1 ? "" : "s", fmt::join(devices, ","));
}

const char* was(const std::vector<core::DeviceIndex>& devices) {
    return devices.size() == 1 ? "was" : "were";
}

} // namespace

bool isByAdministrator(const core::Cause& cause) {
    return cause.reason == core::Reason::admin();
}

std::string sayChange(const std::vector<core::DeviceIndex>& devices, bool attached,
                      const core::Cause& cause, const std::string& actor) {
    return fmt::format("{} {} {} {}", name(devices), was(devices),
                       attached ? "attached" : "taken away",
                       because(cause, actor, devices.size() > 1));
}

std::string sayEnd(const core::Cause& cause, const std::string& actor) {
    return "the environment was ended " + because(cause, actor, false);
}

std::string sayGrant(const std::vector<core::DeviceIndex>& devices,
                     std::chrono::microseconds waited) {
    return fmt::format(
        "{} {}{}{} in the queue", name(devices), was(devices), core::grantedAfter,
        core::formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(waited)));
}

std::string sayLeaseEnding(const std::vector<core::DeviceIndex>& devices, core::WallTime end) {
    const std::string what = devices.empty() ? "this environment" : "the lease of " + name(devices);
    return fmt::format("{} ends at {}; \"genv extend\" prolongs it", what,
                       core::formatLocalTime(end));
}

} // namespace genv::service
