// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's interface that bypasses its own symbols. The functions call no exported function, so that
// a filter in front of the symbols cannot see the calls.
#include "tests/fake_nvml/export_table.hpp"

#include "tests/fake_nvml/machine.hpp"

#include <cstring>

using namespace genv::fake_nvml;

namespace {

Return memory(nvml::Device device, unsigned long long* total, unsigned long long* reserved,
              unsigned long long* used) {
    return callOn(device, "exportTable.memory", [&](const FoundDevice& found) {
        const json& values = member(found.values, "memory");
        if (values.is_null())
            throw Refusal{Return::NotSupported};
        *total = values["total"];
        *reserved = values.value("reserved", 0ULL);
        *used = values.value("used", 0ULL);
    });
}

void append(const json& owner, std::string_view type, std::vector<nvml::ProcessV2>& list) {
    for (const json& process : member(owner, "processes")) {
        const json& used = member(process, "memory");
        if (process.value("type", "compute") == type)
            list.push_back({process["pid"],
                            used.is_null() ? nvml::valueNotAvailable : used.get<std::uint64_t>(),
                            owner.value("gi", nvml::noInstance),
                            owner.value("ci", nvml::noInstance)});
    }
}

Return processes(nvml::Device device, const char* type, unsigned* count, nvml::ProcessV2* list) {
    return callOn(device, "exportTable.processes", [&](const FoundDevice& found) {
        std::vector<nvml::ProcessV2> all;
        append(found.values, type, all);
        if (!found.isMig()) {
            for (const json& instance : member(found.gpu, "mig"))
                append(instance, type, all);
        }
        const auto room = *count;
        *count = static_cast<unsigned>(all.size());
        if (all.size() > room)
            throw Refusal{Return::InsufficientSize};
        std::memcpy(list, all.data(), all.size() * sizeof(nvml::ProcessV2));
    });
}

constexpr ExportTable table{sizeof(ExportTable), memory, processes};

} // namespace

FAKE_NVML_EXPORT Return nvmlInternalGetExportTable(const void** result, const void* id) {
    if (std::memcmp(id, exportTableId.data(), exportTableId.size()) != 0)
        return Return::NotFound;
    *result = &table;
    return Return::Success;
}
