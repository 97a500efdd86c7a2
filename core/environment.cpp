// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environment.hpp"

#include <algorithm>

namespace genv::core {

const Attachment* Environment::attachmentTo(const DeviceUuid& uuid) const {
    const auto found = std::find_if(attachments.begin(), attachments.end(),
                                    [&](const Attachment& a) { return a.device.uuid == uuid; });
    return found == attachments.end() ? nullptr : &*found;
}

std::vector<DeviceIndex> Environment::deviceIndices() const {
    std::vector<DeviceIndex> indices;
    indices.reserve(attachments.size());
    for (const Attachment& attachment : attachments)
        indices.push_back(attachment.device.index);
    std::sort(indices.begin(), indices.end());
    return indices;
}

} // namespace genv::core
