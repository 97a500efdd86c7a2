// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's events. The only kind here is XIDs. A wait never blocks: it finds an event or times out at
// once.
#include "tests/fake_nvml/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace genv::fake_nvml;

namespace {

nvml::OpaqueEventSet& check(Machine& m, nvml::EventSet set) {
    const bool isKnown =
        std::any_of(m.eventSets.begin(), m.eventSets.end(),
                    [&](const nvml::OpaqueEventSet& candidate) { return &candidate == set; });
    if (!isKnown)
        throw Refusal{Return::InvalidArgument};
    return *set;
}

// `size` is the number of bytes that this version of the function fills in.
Return wait(const char* function, nvml::EventSet handle, nvml::EventData* data, std::size_t size) {
    return call(function, [&](Machine& m) {
        nvml::OpaqueEventSet& set = check(m, handle);
        for (const json& event : member(m.file(), "xids")) {
            const auto id = event["id"].get<std::uint64_t>();
            const std::string gpu = textOf(event["device"]);
            if (id <= set.lastId || !set.gpus.contains(gpu))
                continue;
            set.lastId = id;
            const nvml::EventData found{m.handleOf(gpu), nvml::eventXidCriticalError, event["xid"],
                                        event.value("gi", nvml::noInstance),
                                        event.value("ci", nvml::noInstance)};
            std::memcpy(data, &found, size);
            return;
        }
        throw Refusal{Return::Timeout};
    });
}

} // namespace

FAKE_NVML_EXPORT Return nvmlEventSetCreate(nvml::EventSet* set) {
    return call(__func__, [&](Machine& m) {
        *set = &m.eventSets.emplace_back(nvml::OpaqueEventSet{{}, m.lastXid()});
    });
}

FAKE_NVML_EXPORT Return nvmlEventSetFree(nvml::EventSet set) {
    return call(__func__, [&](Machine& m) { check(m, set).gpus.clear(); });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetSupportedEventTypes(nvml::Device device,
                                                         unsigned long long* types) {
    return callOn(device, __func__,
                  [&](const FoundDevice&) { *types = nvml::eventXidCriticalError; });
}

FAKE_NVML_EXPORT Return nvmlDeviceRegisterEvents(nvml::Device device, unsigned long long types,
                                                 nvml::EventSet set) {
    return call(__func__, [&](Machine& m) {
        if (m.find(device).isMig() || types != nvml::eventXidCriticalError)
            throw Refusal{Return::NotSupported};
        check(m, set).gpus.insert(device->gpu);
    });
}

FAKE_NVML_EXPORT Return nvmlEventSetWait(nvml::EventSet set, nvml::EventData* data,
                                         unsigned /*milliseconds*/) {
    return wait(__func__, set, data, offsetof(nvml::EventData, gpuInstanceId));
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlEventSetWait_v2(nvml::EventSet set, nvml::EventData* data,
                                            unsigned /*milliseconds*/) {
    return wait(__func__, set, data, sizeof(*data));
}
#endif
