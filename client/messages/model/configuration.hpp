// SPDX-License-Identifier: LGPL-2.1-or-later
// notify.conf: where the messages of a user go. A file is accepted as a whole or refused. Each
// error names the file, the line and the expected value, and never quotes the URL of a webhook.
#pragma once

#include "client/messages/model/kinds.hpp"
#include "client/messages/model/quiet_hours.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace genv::messages {

/// A way to send messages: a section of the file.
enum class Channel : std::uint8_t { Mail, Webhook, Command };

/// The body that a webhook expects.
enum class Format : std::uint8_t { Slack, Discord, Ntfy, Json };

/// Returns the name of the section, such as "Mail".
std::string_view nameOf(Channel channel);
/// Returns the word for files and units, such as "mail".
std::string_view wordOf(Channel channel);
std::string_view nameOf(Format format);

/// A section of the file.
struct DeliveryTarget {
    std::string value{}; ///< To=, Url= or Run=
    Format format = Format::Json;
    Kinds kinds = defaultKinds();
    std::optional<QuietHours> quiet{};
    bool names = true; ///< whether names of jobs and environments are sent

    bool operator==(const DeliveryTarget&) const = default;
};

using Configuration = std::map<Channel, DeliveryTarget>;

class ConfigurationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Parses the text of a file; `file` is its path, for errors. Throws ConfigurationError.
Configuration parseConfiguration(std::string_view text, const std::string& file);

} // namespace genv::messages
