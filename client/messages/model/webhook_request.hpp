// SPDX-License-Identifier: LGPL-2.1-or-later
// A message as the request of a webhook, in the format that its receiver documents.
#pragma once

#include "client/messages/model/configuration.hpp"
#include "client/messages/model/letter.hpp"

#include <string>
#include <vector>

namespace genv::messages {

struct WebhookRequest {
    std::vector<std::string> headers; ///< "Name: value"; printable ASCII
    std::string body;
};

WebhookRequest requestOf(const Contents& contents, Format format);

} // namespace genv::messages
