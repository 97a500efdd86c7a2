// SPDX-License-Identifier: LGPL-2.1-or-later
// Messages to users, made from the service's notices: one message for all notices about one
// environment, with one cause, in a short time. All texts are printable: foreign text in them is
// escaped.
#pragma once

#include "core/base/time.hpp"
#include "core/model/device.hpp"
#include "genv/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::notify {

/// A device, by its index for the user and its UUID for the service.
struct NamedDevice {
    core::DeviceIndex index = 0;
    std::string uuid;
};

/// An action that the user can choose in a message.
struct NotificationAction {
    enum class Kind { Extend, AttachAgain, Resume };
    Kind kind = Kind::Extend;
    std::string environment;
    core::WallTime leaseEnd;          ///< for Extend: when the lease ends
    std::vector<NamedDevice> devices; ///< for AttachAgain
};

/// The values of the specification's urgency hint.
enum class Urgency : std::uint8_t { Low = 0, Normal = 1, Critical = 2 };

struct DesktopNotification {
    std::string subject; ///< a later message with the same subject replaces this one
    Urgency urgency = Urgency::Normal;
    std::string category; ///< from the specification, else "x-genv...."
    std::string title;
    std::vector<std::string> sentences; ///< events and reasons; whole sentences with a full stop
    std::string hint;                   ///< what to do next; may be empty
    std::vector<NotificationAction> actions; ///< at most one of each kind
};

/// A notice and the time of its arrival.
struct ReceivedNotice {
    Notice notice;
    core::WallTime when;
};

/// A detail that is added here to a notice of kind "open-refused": other environments hold the
/// device.
inline constexpr const char* heldByOthers = "held-by-others";

/// Returns the subject of a notice: the environment and the cause. Returns nothing for a notice
/// that is not shown to users.
std::optional<std::string> subjectOf(const Notice& notice);

/// Returns the sentence about a notice, or nothing for a notice that is not shown to users.
std::optional<std::string> textOf(const ReceivedNotice& received);

/// Returns a message with the content of all these notices. They have the same subject, are ordered
/// oldest first, and are at least one. `missing` is the number of further notices that were not
/// stored.
DesktopNotification compose(const std::string& subject, const std::vector<ReceivedNotice>& received,
                            std::size_t missing);

/// Returns one message in place of many, and of `missing` more that are no longer known.
DesktopNotification summarize(const std::vector<DesktopNotification>& messages,
                              std::size_t missing);
/// Combines a message that was not shown yet with the message that replaces it.
DesktopNotification joined(const DesktopNotification& older, DesktopNotification newer);

/// Returns the name of a user, escaped, or "uid N" if there is none.
std::string userName(std::uint32_t uid);

} // namespace genv::notify
