// SPDX-License-Identifier: LGPL-2.1-or-later
// The exports of genv-nvml-view.so; see filter_gate.hpp.
#include "shims/nvml/filter.hpp"

#include "shims/nvml/filter_gate.hpp"
#include "shims/nvml/filter_report.hpp"
#include "shims/nvml/view_cache.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace genv::shims {

namespace {

std::atomic<const GateServices*> gate;

} // namespace

void* realFunction(Symbol symbol) {
    return gate.load(std::memory_order_relaxed)->findReal(symbol);
}

nvml::Return readUuid(nvml::Device device, std::string& uuid) {
    std::array<char, nvml::uuidBufferSize> buffer{};
    const nvml::Return result = callReal<Symbol::nvmlDeviceGetUUID>(
        device, buffer.data(), static_cast<unsigned>(buffer.size()));
    uuid.clear();
    if (result == nvml::Return::Success)
        uuid.assign(buffer.begin(), std::find(buffer.begin(), buffer.end(), '\0'));
    return result;
}

namespace filter {

nvml::Return nvmlInternalGetExportTable(const void** table, const void* id) {
    report(FilterEvent::ExportTable);
    return callReal<Symbol::nvmlInternalGetExportTable>(table, id);
}

} // namespace filter

} // namespace genv::shims

/// May be called by several threads at once, with the same arguments.
extern "C" __attribute__((visibility("default"))) void
genvNvmlFilter(const genv::shims::GateServices* services, void** functions) {
    using namespace genv::shims;
    static std::once_flag prepared;
    std::call_once(prepared, prepareToAsk);
    gate.store(services);
#define GENV_X(name, ...)                                                                          \
    functions[static_cast<std::size_t>(Symbol::name)] = reinterpret_cast<void*>(&filter::name);
    GENV_NVML_FILTERED(GENV_X)
#undef GENV_X
}
