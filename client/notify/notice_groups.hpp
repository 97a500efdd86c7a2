// SPDX-License-Identifier: LGPL-2.1-or-later
// Notices about one thing, combined to a group: a message has one sentence for each group.
#pragma once

#include "client/notify/desktop_notification.hpp"
#include "core/base/time.hpp"
#include "core/model/device.hpp"
#include "core/sentences/sentences.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace genv::notify {

/// The start of a reason that is a rule.
inline constexpr std::string_view rulePrefix = "rule:";

/// A notice, with typed access to its details. The notice must outlive it.
class Details {
  public:
    explicit Details(const Notice& notice) : notice_(notice) {}

    /// Returns an empty text, 0 or an empty list for a detail that the notice does not have.
    [[nodiscard]] std::string text(const char* key) const;
    [[nodiscard]] std::uint64_t number(const char* key) const;
    [[nodiscard]] bool has(const char* key) const { return notice_.details.contains(key); }
    [[nodiscard]] NamedDevice device() const;
    [[nodiscard]] std::vector<core::DeviceIndex> devices() const { return numbers("devices"); }
    [[nodiscard]] std::vector<core::Pid> pids() const { return numbers("pids"); }

  private:
    [[nodiscard]] std::vector<std::uint32_t> numbers(const char* key) const;

    const Notice& notice_;
};

/// Notices that are combined to one sentence.
struct Group {
    std::string kind;
    std::string environment;
    std::string reason;
    std::string actor;                                ///< a user name
    std::map<core::DeviceIndex, std::string> devices; ///< with their UUIDs, if known
    core::NamedProcesses processes;
    ReceivedNotice last;

    [[nodiscard]] std::vector<core::DeviceIndex> indices() const;
    [[nodiscard]] std::vector<core::Pid> pids() const;
    [[nodiscard]] bool isRule() const { return reason.starts_with(rulePrefix); }
    /// Returns the rule that is the reason, or an empty text if the reason is not a rule.
    [[nodiscard]] std::string_view rule() const;
    /// Returns the time that the detail "left" of the last notice announces.
    [[nodiscard]] core::WallTime end() const;
};

/// Returns whether notices of this kind are about parking.
bool isAboutParking(std::string_view kind);

/// Returns the groups of notices that have one subject, in the order of the first notice of each.
/// Leaves out groups whose content is part of another group.
std::vector<Group> grouped(const std::vector<ReceivedNotice>& received);

} // namespace genv::notify
