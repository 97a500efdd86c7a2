// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's lists of processes.
#include "tests/fake_nvml/machine.hpp"

#include <cstring>

using namespace genv::fake_nvml;

namespace {

void append(const json& owner, const char* type, std::vector<nvml::ProcessDetailV1>& list) {
    for (const json& process : member(owner, "processes")) {
        if (process.value("type", "compute") != type)
            continue;
        const json& memory = member(process, "memory");
        list.push_back({process["pid"],
                        memory.is_null() ? nvml::valueNotAvailable : memory.get<std::uint64_t>(),
                        owner.value("gi", nvml::noInstance), owner.value("ci", nvml::noInstance),
                        0});
    }
}

// Each program has one allocation.
void appendAllocations(const std::string& gpu, std::vector<nvml::ProcessDetailV1>& list) {
    for (const Allocation& allocation : machine().allocations()) {
        if (allocation.gpu == gpu)
            list.push_back(
                {allocation.pid, allocation.bytes, nvml::noInstance, nvml::noInstance, 0});
    }
}

// `entrySize` is the documented size of a process entry in this version of the function.
Return listProcesses(const char* function, nvml::Device device, unsigned* count, void* infos,
                     const char* type, std::size_t entrySize) {
    return callOn(device, function, [&](const FoundDevice& found) {
        std::vector<nvml::ProcessDetailV1> list;
        append(found.values, type, list);
        // A GPU in MIG mode lists all processes of its instances.
        if (!found.isMig()) {
            for (const json& instance : member(found.gpu, "mig"))
                append(instance, type, list);
            if (std::string_view(type) == "compute")
                appendAllocations(textOf(found.gpu["uuid"]), list);
        }
        const auto room = *count;
        *count = static_cast<unsigned>(list.size());
        if (list.size() > room)
            throw Refusal{Return::InsufficientSize};
        const json& sizes = member(machine().file(), "process_entry_size");
        const std::size_t size = sizes.is_null() ? entrySize : sizes.value(function, entrySize);
        auto* out = static_cast<unsigned char*>(infos);
        for (const nvml::ProcessDetailV1& process : list) {
            std::memcpy(out, &process, size);
            out += size;
        }
    });
}

} // namespace

FAKE_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses(nvml::Device device, unsigned* count,
                                                             void* infos) {
    return listProcesses(__func__, device, count, infos, "compute", sizeof(nvml::ProcessV1));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses(nvml::Device device, unsigned* count,
                                                              void* infos) {
    return listProcesses(__func__, device, count, infos, "graphics", sizeof(nvml::ProcessV1));
}

FAKE_NVML_EXPORT Return nvmlSystemGetProcessName(unsigned pid, char* buffer, unsigned size) {
    return call(__func__, [&](Machine& m) {
        for (const json& gpu : member(m.file(), "devices")) {
            for (const json& process : member(gpu, "processes")) {
                if (process["pid"] == pid && process.contains("name"))
                    return copyText(textOf(process["name"]), buffer, size);
            }
        }
        for (const Allocation& allocation : m.allocations()) {
            std::error_code failed;
            if (allocation.pid == pid)
                return copyText(
                    std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed)
                        .string(),
                    buffer, size);
        }
        throw Refusal{Return::NotFound};
    });
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses_v2(nvml::Device device,
                                                                unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "compute", sizeof(nvml::ProcessV2));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device,
                                                                unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "compute", sizeof(nvml::ProcessV2));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v2(nvml::Device device,
                                                                 unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "graphics", sizeof(nvml::ProcessV2));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml::Device device,
                                                                 unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "graphics", sizeof(nvml::ProcessV2));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses(nvml::Device device,
                                                                unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "mps", sizeof(nvml::ProcessV1));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses_v2(nvml::Device device,
                                                                   unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "mps", sizeof(nvml::ProcessV2));
}

FAKE_NVML_EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml::Device device,
                                                                   unsigned* count, void* infos) {
    return listProcesses(__func__, device, count, infos, "mps", sizeof(nvml::ProcessV2));
}
#endif
