// SPDX-License-Identifier: LGPL-2.1-or-later
// The texts of messages about each kind of notice.
#pragma once

#include "client/notify/desktop_notification.hpp"
#include "client/notify/notice_groups.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace genv::notify {

/// The content of a message about a group.
struct Part {
    Urgency urgency = Urgency::Normal;
    std::string category;
    std::string title;
    std::string sentence;
    std::string hint;
    std::optional<NotificationAction> action;
};

/// Returns whether notices of this kind are shown to users.
bool isShown(std::string_view kind);

/// Describes a group whose kind is shown to users.
Part describe(const Group& group);

/// Returns the name and the identifier of the notice's environment, escaped.
std::string nameEnvironment(const Notice& notice);

/// Returns the text with a capital letter at its start.
std::string capitalised(std::string text);

} // namespace genv::notify
