// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limits.hpp"

#include <algorithm>

namespace genv::core {

Limits LimitTable::of(const UserInfo& user) const {
    if (user.uid == 0)
        return {};
    Limits result = general;
    const auto own = users.find(user.name);
    const auto choose = [&](auto Limits::*limit) {
        std::remove_reference_t<decltype(result.*limit)> ofGroups;
        for (const std::string& name : user.groups) {
            const auto group = groups.find(name);
            if (group != groups.end() && group->second.*limit)
                ofGroups = std::max(ofGroups, group->second.*limit);
        }
        if (own != users.end() && own->second.*limit)
            result.*limit = own->second.*limit;
        else if (ofGroups)
            result.*limit = ofGroups;
        using Value = typename std::remove_reference_t<decltype(result.*limit)>::value_type;
        if (result.*limit == infinite<Value>())
            (result.*limit).reset();
    };
    choose(&Limits::maxDevices);
    choose(&Limits::maxEnvironments);
    choose(&Limits::maxProcesses);
    choose(&Limits::maxGpuMemory);
    choose(&Limits::maxGpuMemoryPerDevice);
    choose(&Limits::maxLifetime);
    choose(&Limits::idleTimeout);
    return result;
}

} // namespace genv::core
