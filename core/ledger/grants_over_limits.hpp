// SPDX-License-Identifier: LGPL-2.1-or-later
// The grants above a limit that was lowered after them. With KeepGrants=yes they are marked in the
// state and stay until their holders give them back.
#pragma once

#include "core/model/environment.hpp"

#include <set>
#include <utility>

namespace genv::core {

struct GrantsOverLimits {
    std::set<EnvironmentId> environments;
    std::set<std::pair<EnvironmentId, DeviceUuid>> attachments;

    [[nodiscard]] bool contains(const EnvironmentRecord& environment) const {
        return environments.contains(environment.id);
    }
    [[nodiscard]] bool contains(const EnvironmentRecord& environment,
                                const DeviceAttachment& attachment) const {
        return attachments.contains({environment.id, attachment.device.uuid});
    }
};

} // namespace genv::core
