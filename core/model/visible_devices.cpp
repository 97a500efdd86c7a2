// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/visible_devices.hpp"

#include <algorithm>

namespace genv::core {

bool isInstanceUuid(std::string_view uuid) {
    return uuid.substr(0, 4) == "MIG-";
}

std::string visibleDevices(std::vector<CudaVisibleDevice> attached, bool namesUuids) {
    if (attached.empty())
        return "-1";
    std::sort(
        attached.begin(), attached.end(),
        [](const CudaVisibleDevice& a, const CudaVisibleDevice& b) { return a.index < b.index; });
    std::string text;
    for (const CudaVisibleDevice& device : attached) {
        if (!text.empty())
            text += ',';
        text += namesUuids ? device.uuid : std::to_string(device.index);
    }
    return text;
}

} // namespace genv::core
