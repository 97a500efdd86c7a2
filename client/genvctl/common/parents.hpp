// SPDX-License-Identifier: LGPL-2.1-or-later
// The parents of nested environments.
#pragma once

#include "genv/client.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::ctl {

/// Maps the id of each nested environment to the id of its parent.
using Parents = std::map<std::string, std::string>;

/// Returns the parents of those environments that are nested.
inline Parents parentsIn(const std::vector<Environment>& environments) {
    Parents parents;
    for (const Environment& environment : environments) {
        if (environment.parent)
            parents.emplace(environment.id, *environment.parent);
    }
    return parents;
}

/// Returns the parent of this environment.
inline std::optional<std::string> parentOf(const Parents& parents, const std::string& id) {
    const auto found = parents.find(id);
    return found == parents.end() ? std::nullopt : std::optional(found->second);
}

/// Returns the attachments without those of nested environments, which are part of their parents'
/// attachments. A nested attachment comes after that of its parent, so the parents are requested
/// only if a device has several attachments.
inline std::vector<Attachment> holdersAttachments(Client& client) {
    std::vector<Attachment> attachments = client.attachments();
    std::set<std::uint32_t> devices;
    for (const Attachment& attachment : attachments)
        devices.insert(attachment.device);
    if (devices.size() == attachments.size())
        return attachments;
    const Parents parents = parentsIn(client.machine().environments);
    std::erase_if(attachments, [&](const Attachment& attachment) {
        return parents.contains(attachment.environment);
    });
    return attachments;
}

} // namespace genv::ctl
