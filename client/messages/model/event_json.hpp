// SPDX-License-Identifier: LGPL-2.1-or-later
// Events as JSON values, for the files and the messages that hold several.
#pragma once

#include "client/messages/model/message_event.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace genv::messages {

nlohmann::json toJson(const MessageEvent& event);
/// Returns nothing for a value that is no event.
std::optional<MessageEvent> eventOf(const nlohmann::json& json);

} // namespace genv::messages
