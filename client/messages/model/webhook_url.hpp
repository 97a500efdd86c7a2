// SPDX-License-Identifier: LGPL-2.1-or-later
// The URL of a webhook, which is a secret: whoever knows it can send messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genv::messages {

/// Returns the fault of a URL, without the URL itself; nothing for an http or https URL with
/// a host, without a user name, and in printable ASCII.
std::optional<std::string> faultOfUrl(std::string_view url);

/// Returns the part of a valid URL that may be shown: "https://hooks.example.org/...".
std::string shownUrl(std::string_view url);

} // namespace genv::messages
