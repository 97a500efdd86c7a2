// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's functions that find and describe devices.
#include "tests/fake_nvml/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

using namespace genv::fake_nvml;

namespace {

struct PciAddress {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;

    friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

PciAddress parsePci(const std::string& text) {
    PciAddress address;
    if (std::sscanf(text.c_str(), "%x:%x:%x", &address.domain, &address.bus, &address.device) != 3)
        throw Refusal{Return::InvalidArgument};
    return address;
}

// Returns a GPU's address. If the file has none, it is derived from the place in the file.
PciAddress pciOf(Machine& m, unsigned index) {
    unsigned place = 0;
    for (const json& gpu : member(m.file(), "devices")) {
        if (textOf(gpu["uuid"]) == m.gpus().at(index))
            return gpu.contains("pci") ? parsePci(textOf(gpu["pci"]))
                                       : PciAddress{0, 0x10 + place, 0};
        ++place;
    }
    return {0, 0x10 + index, 0};
}

#ifndef FAKE_NVML_OLD
Return count(const char* function, unsigned* result) {
    return call(function, [&](Machine& m) { *result = static_cast<unsigned>(m.gpus().size()); });
}
#endif

// The first version of the function counts only the GPUs that can be opened.
Return countOpen(const char* function, unsigned* result) {
    return call(function, [&](Machine& m) {
        *result = static_cast<unsigned>(std::ranges::count_if(
            m.gpus(), [&](const std::string& gpu) { return m.mayOpen(gpu); }));
    });
}

Return handleByIndex(const char* function, unsigned index, nvml::Device* result) {
    return call(function, [&](Machine& m) {
        if (index >= m.gpus().size())
            throw Refusal{Return::InvalidArgument};
        m.requireOpen(m.gpus()[index]);
        const nvml::Device handle = m.handleOf(m.gpus()[index]);
        m.find(handle); // refuses a lost device
        *result = handle;
    });
}

Return handleByPciBusId(const char* function, const char* busId, nvml::Device* result) {
    return call(function, [&](Machine& m) {
        for (unsigned index = 0; index < m.gpus().size(); ++index) {
            if (pciOf(m, index) == parsePci(busId)) {
                m.requireOpen(m.gpus()[index]);
                *result = m.handleOf(m.gpus()[index]);
                m.find(*result);
                return;
            }
        }
        throw Refusal{Return::NotFound};
    });
}

Return pciInfo(const char* function, nvml::Device device, nvml::PciInfo* result) {
    return call(function, [&](Machine& m) {
        m.find(device);
        const PciAddress pci = pciOf(m, m.indexOf(m.handleOf(device->gpu)));
        *result = {{}, pci.domain, pci.bus, pci.device, 0x20b010de, 0x144e10de, {}};
        std::snprintf(result->busIdLegacy, sizeof(result->busIdLegacy), "%04X:%02X:%02X.0",
                      pci.domain & 0xFFFFU, pci.bus & 0xFFU, pci.device & 0x1FU);
        std::snprintf(result->busId, sizeof(result->busId), "%08X:%02X:%02X.0", pci.domain, pci.bus,
                      pci.device);
    });
}

Return copyMember(const char* function, nvml::Device device, const char* name, char* buffer,
                  unsigned size) {
    return callOn(device, function, [&](const FoundDevice& found) {
        const json& value = member(found.values, name);
        if (value.is_null())
            throw Refusal{Return::NotSupported};
        copyText(textOf(value), buffer, size);
    });
}

// Returns a reading of a GPU. MIG instances have no readings of their own.
unsigned reading(const FoundDevice& found, const char* name) {
    const json& value = member(found.values, name);
    if (found.isMig() || value.is_null())
        throw Refusal{Return::NotSupported};
    return value.is_boolean() ? value.get<bool>() : value.get<unsigned>();
}

Return readMember(const char* function, nvml::Device device, const char* name, unsigned* result) {
    return callOn(device, function,
                  [&](const FoundDevice& found) { *result = reading(found, name); });
}

struct Memory {
    unsigned long long total;
    unsigned long long used;
    unsigned long long reserved;
};

Memory memoryOf(const FoundDevice& found) {
    const json& memory = member(found.values, "memory");
    if (memory.is_null())
        throw Refusal{Return::NotSupported};
    auto used = memory.value("used", 0ULL);
    for (const Allocation& allocation : machine().allocations()) {
        if (!found.isMig() && allocation.gpu == textOf(found.gpu["uuid"]))
            used += allocation.bytes;
    }
    return {memory["total"], used, memory.value("reserved", 0ULL)};
}

} // namespace

FAKE_NVML_EXPORT Return nvmlDeviceGetCount(unsigned* result) {
    return countOpen(__func__, result);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByIndex(unsigned index, nvml::Device* device) {
    return handleByIndex(__func__, index, device);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByPciBusId(const char* busId, nvml::Device* device) {
    return handleByPciBusId(__func__, busId, device);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByUUID(const char* uuid, nvml::Device* device) {
    return call(__func__, [&](Machine& m) {
        nvml::Device found = nullptr;
        for (const std::string& gpu : m.gpus()) {
            if (gpu == uuid || m.findInstance(gpu, uuid) != nullptr)
                found = m.handleOf(gpu, gpu == uuid ? "" : uuid);
        }
        if (found == nullptr)
            throw Refusal{Return::NotFound};
        m.requireOpen(found->gpu);
        m.find(found);
        *device = found;
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetIndex(nvml::Device device, unsigned* index) {
    return call(__func__, [&](Machine& m) {
        m.find(device);
        *index = m.indexOf(device);
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetUUID(nvml::Device device, char* buffer, unsigned size) {
    return copyMember(__func__, device, "uuid", buffer, size);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetName(nvml::Device device, char* buffer, unsigned size) {
    return copyMember(__func__, device, "name", buffer, size);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMinorNumber(nvml::Device device, unsigned* minor) {
    return readMember(__func__, device, "minor", minor);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* pci) {
    return pciInfo(__func__, device, pci);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::MemoryV1* result) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        const Memory memory = memoryOf(found);
        const auto used = memory.used + memory.reserved;
        *result = {memory.total, memory.total - used, used};
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetUtilizationRates(nvml::Device device,
                                                      nvml::Utilization* result) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        // A GPU in MIG mode has no utilization rates either.
        if (found.gpu.contains("mig"))
            throw Refusal{Return::NotSupported};
        *result = {reading(found, "utilization"), found.values.value("memory_utilization", 0U)};
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetTemperature(nvml::Device device, unsigned sensor,
                                                 unsigned* celsius) {
    return sensor == nvml::temperatureOfGpu ? readMember(__func__, device, "temperature", celsius)
                                            : Return::InvalidArgument;
}

FAKE_NVML_EXPORT Return nvmlDeviceGetFanSpeed(nvml::Device device, unsigned* percent) {
    return readMember(__func__, device, "fan", percent);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetPowerUsage(nvml::Device device, unsigned* milliwatts) {
    return readMember(__func__, device, "power", milliwatts);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetPowerManagementLimit(nvml::Device device,
                                                          unsigned* milliwatts) {
    return readMember(__func__, device, "power_limit", milliwatts);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, unsigned* milliwatts) {
    return readMember(__func__, device, "power_limit", milliwatts);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetPerformanceState(nvml::Device device, unsigned* state) {
    return readMember(__func__, device, "pstate", state);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetPersistenceMode(nvml::Device device, unsigned* enabled) {
    return readMember(__func__, device, "persistence", enabled);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetComputeMode(nvml::Device device, unsigned* mode) {
    return readMember(__func__, device, "compute_mode", mode);
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlDeviceGetCount_v2(unsigned* result) {
    return count(__func__, result);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
    return handleByIndex(__func__, index, device);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetHandleByPciBusId_v2(const char* busId, nvml::Device* device) {
    return handleByPciBusId(__func__, busId, device);
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryV2* result) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (result->version != nvml::memoryV2Version)
            throw Refusal{Return::ArgumentVersionMismatch};
        const Memory memory = memoryOf(found);
        *result = {result->version, memory.total, memory.reserved,
                   memory.total - memory.used - memory.reserved, memory.used};
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMigMode(nvml::Device device, unsigned* current,
                                             unsigned* pending) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (found.isMig())
            throw Refusal{Return::InvalidArgument};
        *current = *pending = found.gpu.contains("mig") ? nvml::migEnabled : 0;
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, unsigned* result) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        *result = static_cast<unsigned>(found.isMig() ? 0 : member(found.gpu, "mig").size());
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned index,
                                                            nvml::Device* instance) {
    return call(__func__, [&](Machine& m) {
        const json& instances = member(m.find(device).gpu, "mig");
        if (index >= instances.size() || instances[index].is_null())
            throw Refusal{Return::NotFound};
        *instance = m.handleOf(device->gpu, textOf(instances[index]["uuid"]));
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceIsMigDeviceHandle(nvml::Device device, unsigned* isMig) {
    return callOn(device, __func__,
                  [&](const FoundDevice& found) { *isMig = found.isMig() ? 1 : 0; });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml::Device instance,
                                                                     nvml::Device* device) {
    return call(__func__, [&](Machine& m) {
        if (!m.find(instance).isMig())
            throw Refusal{Return::InvalidArgument};
        *device = m.handleOf(instance->gpu);
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetGpuInstanceId(nvml::Device device, unsigned* id) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (!found.isMig())
            throw Refusal{Return::NotSupported};
        *id = found.values["gi"];
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetComputeInstanceId(nvml::Device device, unsigned* id) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (!found.isMig())
            throw Refusal{Return::NotSupported};
        *id = found.values["ci"];
    });
}
#endif
