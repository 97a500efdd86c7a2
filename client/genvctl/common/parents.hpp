// SPDX-License-Identifier: LGPL-2.1-or-later
// Which environments are within which others, as Client::parents() says.
#pragma once

#include "genv/client.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl {

/// The ids of environments within others, and of those.
using Parents = std::map<std::string, std::string>;

/// The environment that this one is within.
inline std::optional<std::string> parentOf(const Parents& parents, const std::string& id) {
    const auto found = parents.find(id);
    return found == parents.end() ? std::nullopt : std::optional(found->second);
}

/// The attachments but for those that are a part of what another environment has. One of these
/// comes after that, so who is within what is only asked where a device has several.
inline std::vector<Attachment> holdersAttachments(Client& client) {
    std::vector<Attachment> attachments = client.attachments();
    std::set<std::uint32_t> devices;
    for (const Attachment& attachment : attachments)
        devices.insert(attachment.device);
    if (devices.size() == attachments.size())
        return attachments;
    const Parents parents = client.parents();
    std::erase_if(attachments, [&](const Attachment& attachment) {
        return parents.contains(attachment.environment);
    });
    return attachments;
}

} // namespace genv::ctl
