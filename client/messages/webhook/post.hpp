// SPDX-License-Identifier: LGPL-2.1-or-later
// One request to the URL of a webhook. Only http and https, without redirects, and within a
// deadline whatever the receiver does.
#pragma once

#include "client/messages/model/webhook_request.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace genv::messages {

/// Posts a request. Returns why it failed, without the URL; nothing if the receiver took it.
std::optional<std::string> post(const std::string& url, const WebhookRequest& request,
                                std::chrono::milliseconds timeout);

} // namespace genv::messages
