// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's less common ways to get a device, and a function that no real NVML has.
#include "tests/fake_nvml/machine.hpp"

#include <algorithm>

using namespace genv::fake_nvml;

namespace {

// Copies a list of handles. A count of 0 asks for the number of handles.
void copyHandles(Machine& m, const std::vector<std::string>& gpus, unsigned* count,
                 nvml::Device* handles) {
    const auto all = static_cast<unsigned>(gpus.size());
    const unsigned room = *count;
    *count = room == 0 ? all : std::min(room, all);
    for (unsigned i = 0; room > 0 && i < *count; ++i)
        handles[i] = m.handleOf(gpus[i]);
}

} // namespace

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleBySerial(const char* serial, nvml::Device* device) {
    return call(__func__, [&](Machine& m) {
        for (const json& gpu : member(m.file(), "devices")) {
            if (gpu.value("serial", "") == serial) {
                m.requireOpen(textOf(gpu["uuid"]));
                *device = m.handleOf(textOf(gpu["uuid"]));
                return;
            }
        }
        throw Refusal{Return::NotFound};
    });
}

// All other GPUs are near a GPU.
FAKE_NVML_EXPORT Return nvmlDeviceGetTopologyNearestGpus(nvml::Device device, int /*level*/,
                                                         unsigned* count, nvml::Device* handles) {
    return call(__func__, [&](Machine& m) {
        m.find(device);
        std::vector<std::string> others = m.gpus();
        others.erase(std::remove(others.begin(), others.end(), device->gpu), others.end());
        copyHandles(m, others, count, handles);
    });
}

// All GPUs are near every processor.
FAKE_NVML_EXPORT Return nvmlSystemGetTopologyGpuSet(unsigned /*cpu*/, unsigned* count,
                                                    nvml::Device* handles) {
    return call(__func__, [&](Machine& m) { copyHandles(m, m.gpus(), count, handles); });
}

FAKE_NVML_EXPORT Return nvmlGenvUnknownFunction(unsigned* answer) {
    return call(__func__, [&](Machine&) { *answer = 42; });
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByUUIDV(const nvml::Uuid* uuid, nvml::Device* device) {
    return call(__func__, [&](Machine& m) {
        if (uuid->version != nvml::uuidVersion)
            throw Refusal{Return::ArgumentVersionMismatch};
        if (uuid->type != nvml::uuidTypeAscii)
            throw Refusal{Return::NotSupported};
        for (const std::string& gpu : m.gpus()) {
            if (gpu == uuid->value.text) {
                m.requireOpen(gpu);
                *device = m.handleOf(gpu);
                return;
            }
        }
        throw Refusal{Return::NotFound};
    });
}
#endif
