// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/visible.hpp"

#include <algorithm>

namespace genv::shims {

std::vector<unsigned> Scope::pids() const {
    std::vector<unsigned> pids;
    for (const VisibleDevice* device : devices) {
        for (const VisibleProcess& process : device->processes)
            pids.push_back(process.pid);
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

Scope scopeOf(const View& view, std::string_view uuid, const ParentFinder& parentOf) {
    const auto own = std::find_if(view.begin(), view.end(),
                                  [&](const VisibleDevice& device) { return device.uuid == uuid; });
    if (own != view.end())
        return {{&*own}, false};
    Scope scope{{}, true};
    for (const VisibleDevice& device : view) {
        if (isInstance(device.uuid) && !isInstance(uuid) && parentOf(device.uuid) == uuid)
            scope.devices.push_back(&device);
    }
    return scope;
}

std::vector<VisibleGpu> inOrder(std::vector<VisibleGpu> gpus) {
    std::sort(gpus.begin(), gpus.end(), [](const VisibleGpu& one, const VisibleGpu& other) {
        return one.index < other.index;
    });
    gpus.erase(std::unique(gpus.begin(), gpus.end(),
                           [](const VisibleGpu& one, const VisibleGpu& other) {
                               return one.index == other.index;
                           }),
               gpus.end());
    return gpus;
}

} // namespace genv::shims
