// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/visible_handles.hpp"

#include "shims/nvml/real_nvml.hpp"

#include <utility>

namespace genv::shims {

namespace {

using nvml::Return;

Return parentHandle(const std::string& instance, nvml::Device& parent) {
    nvml::Device handle = nullptr;
    const Return result = callReal<Symbol::nvmlDeviceGetHandleByUUID>(instance.c_str(), &handle);
    if (result != Return::Success)
        return result;
    return callReal<Symbol::nvmlDeviceGetDeviceHandleFromMigDeviceHandle>(handle, &parent);
}

std::string parentUuid(const std::string& instance) {
    nvml::Device parent = nullptr;
    std::string uuid;
    if (parentHandle(instance, parent) == Return::Success)
        readUuid(parent, uuid);
    return uuid;
}

VisibleGpu wholeGpu(const VisibleDevice& device) {
    VisibleGpu gpu{device.index, {}, nullptr};
    gpu.result = callReal<Symbol::nvmlDeviceGetHandleByUUID>(device.uuid.c_str(), &gpu.handle);
    return gpu;
}

std::vector<VisibleGpu> visibleGpus(const View& view) {
    std::vector<VisibleGpu> gpus;
    for (const VisibleDevice& device : view) {
        if (!isInstance(device.uuid)) {
            gpus.push_back(wholeGpu(device));
            continue;
        }
        VisibleGpu gpu;
        if (parentHandle(device.uuid, gpu.handle) == Return::Success &&
            callReal<Symbol::nvmlDeviceGetIndex>(gpu.handle, &gpu.index) == Return::Success)
            gpus.push_back(gpu);
    }
    return inOrder(std::move(gpus));
}

} // namespace

Return readScope(const View& view, nvml::Device handle, Scope& scope) {
    std::string uuid;
    const Return result = readUuid(handle, uuid);
    if (result == Return::Success)
        scope = scopeOf(view, uuid, parentUuid);
    return result;
}

bool isVisible(const View& view, nvml::Device handle) {
    Scope scope;
    return readScope(view, handle, scope) == Return::Success && scope.isVisible();
}

// Without instances, the environment's devices are GPUs, and counting them needs no handles.
std::size_t countVisibleGpus(const View& view) {
    return hasInstances(view) ? visibleGpus(view).size() : view.size();
}

VisibleGpu visibleGpu(const View& view, std::size_t place) {
    return hasInstances(view) ? visibleGpus(view).at(place) : wholeGpu(view.at(place));
}

} // namespace genv::shims
