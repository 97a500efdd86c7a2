// SPDX-License-Identifier: LGPL-2.1-or-later
// Filters the set of devices. The positions of handles, 0 to count - 1, count only the
// environment's devices. nvmlDeviceGetIndex() is not filtered and returns the machine-wide index,
// which genv, the user and CUDA_VISIBLE_DEVICES use. A device that is not attached appears as
// nonexistent.
#include "shims/nvml/filter.hpp"
#include "shims/nvml/view_cache.hpp"
#include "shims/nvml/visible_handles.hpp"

#include <algorithm>

namespace genv::shims::filter {

namespace {

using nvml::Device;
using nvml::Return;

template <Symbol symbol>
Return count(unsigned* result) {
    return guarded([&] {
        unsigned all = 0;
        // Call the driver in any case, because the result shows whether NVML was started.
        const Return answer = callReal<symbol>(result != nullptr ? &all : nullptr);
        if (answer != Return::Success || result == nullptr)
            return answer;
        const auto view = currentDevices();
        *result = view ? static_cast<unsigned>(countVisibleGpus(*view)) : all;
        return answer;
    });
}

template <Symbol symbol, Symbol countSymbol>
Return handleByIndex(unsigned index, Device* result) {
    return guarded([&] {
        const auto view = result != nullptr ? currentDevices() : nullptr;
        if (!view)
            return callReal<symbol>(index, result);
        if (index >= countVisibleGpus(*view)) {
            // Call the driver for its error if NVML was not started.
            unsigned all = 0;
            const Return answer = callReal<countSymbol>(&all);
            return answer == Return::Success ? Return::InvalidArgument : answer;
        }
        const VisibleGpu gpu = visibleGpu(*view, index);
        if (gpu.result == Return::Success)
            *result = gpu.handle;
        return gpu.result;
    });
}

// Filters a handle that was found by a unique property of a device or by its position on a GPU.
// Under isolation, the driver returns NoPermission for a device that this user does not hold.
template <Symbol symbol, typename... Keys>
Return visibleHandle(Device* result, Keys... keys) {
    return guarded([&] {
        const auto view = result != nullptr ? currentDevices() : nullptr;
        if (!view)
            return callReal<symbol>(keys..., result);
        Device handle = nullptr;
        const Return answer = callReal<symbol>(keys..., &handle);
        if (answer != Return::Success)
            return answer == Return::NoPermission ? Return::NotFound : answer;
        if (!isVisible(*view, handle))
            return Return::NotFound;
        *result = handle;
        return answer;
    });
}

// Filters a list of handles. With a count of 0, the program only queries the number.
template <Symbol symbol, typename... Keys>
Return visibleHandles(unsigned* count, Device* handles, Keys... keys) {
    return guarded([&] {
        const auto view = count != nullptr ? currentDevices() : nullptr;
        if (!view || (handles == nullptr && *count > 0))
            return callReal<symbol>(keys..., count, handles);
        unsigned room = 0;
        Return answer = callReal<symbol>(keys..., &room, static_cast<Device*>(nullptr));
        std::vector<Device> all(room);
        if (answer == Return::Success && room > 0)
            answer = callReal<symbol>(keys..., &room, all.data());
        if (answer != Return::Success)
            return answer;
        all.resize(std::min<std::size_t>(room, all.size()));
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [&](Device handle) { return !isVisible(*view, handle); }),
                  all.end());
        const auto found = static_cast<unsigned>(all.size());
        const unsigned taken = *count == 0 ? 0 : std::min(*count, found);
        std::copy_n(all.begin(), taken, handles);
        *count = *count == 0 ? found : taken;
        return answer;
    });
}

} // namespace

Return nvmlDeviceGetCount(unsigned* result) {
    return count<Symbol::nvmlDeviceGetCount>(result);
}

Return nvmlDeviceGetCount_v2(unsigned* result) {
    return count<Symbol::nvmlDeviceGetCount_v2>(result);
}

Return nvmlDeviceGetHandleByIndex(unsigned index, Device* result) {
    return handleByIndex<Symbol::nvmlDeviceGetHandleByIndex, Symbol::nvmlDeviceGetCount>(index,
                                                                                         result);
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* result) {
    return handleByIndex<Symbol::nvmlDeviceGetHandleByIndex_v2, Symbol::nvmlDeviceGetCount_v2>(
        index, result);
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetHandleByUUID>(result, uuid);
}

Return nvmlDeviceGetHandleByUUIDV(const nvml::Uuid* uuid, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetHandleByUUIDV>(result, uuid);
}

Return nvmlDeviceGetHandleBySerial(const char* serial, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetHandleBySerial>(result, serial);
}

Return nvmlDeviceGetHandleByPciBusId(const char* busId, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetHandleByPciBusId>(result, busId);
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* busId, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetHandleByPciBusId_v2>(result, busId);
}

// An instance that is not attached leaves a gap, which is normal for instance indices.
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* result) {
    return visibleHandle<Symbol::nvmlDeviceGetMigDeviceHandleByIndex>(result, device, index);
}

Return nvmlDeviceGetTopologyNearestGpus(Device device, int level, unsigned* count,
                                        Device* handles) {
    return visibleHandles<Symbol::nvmlDeviceGetTopologyNearestGpus>(count, handles, device, level);
}

Return nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned* count, Device* handles) {
    return visibleHandles<Symbol::nvmlSystemGetTopologyGpuSet>(count, handles, cpu);
}

} // namespace genv::shims::filter
