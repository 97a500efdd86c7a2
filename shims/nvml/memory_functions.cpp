// SPDX-License-Identifier: LGPL-2.1-or-later
// Filters memory information. For a handle that the environment does not see, for example because
// the device has been detached, returns NoPermission instead of numbers.
#include "shims/nvml/filter.hpp"
#include "shims/nvml/filter_report.hpp"
#include "shims/nvml/memory_figures.hpp"
#include "shims/nvml/view_cache.hpp"
#include "shims/nvml/visible_handles.hpp"

namespace genv::shims::filter {

namespace {

using nvml::Device;
using nvml::Return;

// `correct` writes the environment's numbers into the driver's structure.
template <Symbol symbol, typename Memory, typename Correct>
Return memory(Device device, Memory* result, Correct correct) {
    report(FilterEvent::Memory);
    return guarded([&] {
        const auto view = result != nullptr ? currentView() : nullptr;
        if (!view)
            return callReal<symbol>(device, result);
        Memory driver = *result; // with the version that the program set
        const Return answer = callReal<symbol>(device, &driver);
        if (answer != Return::Success)
            return answer;
        Scope scope;
        const Return known = readScope(*view, device, scope);
        if (known != Return::Success)
            return known;
        if (!scope.isVisible())
            return Return::NoPermission;
        const auto own = ownMemory(scope, {driver.total, driver.free, driver.used});
        if (!own)
            return Return::NotSupported;
        correct(driver, *own);
        *result = driver;
        return answer;
    });
}

} // namespace

Return nvmlDeviceGetMemoryInfo(Device device, nvml::MemoryV1* result) {
    return memory<Symbol::nvmlDeviceGetMemoryInfo>(
        device, result, [](nvml::MemoryV1& driver, const MemoryFigures& own) {
            driver = {own.total, own.free, own.used};
        });
}

Return nvmlDeviceGetMemoryInfo_v2(Device device, nvml::MemoryV2* result) {
    return memory<Symbol::nvmlDeviceGetMemoryInfo_v2>(
        device, result, [](nvml::MemoryV2& driver, const MemoryFigures& own) {
            driver = {driver.version, own.total, remainder(own), own.free, own.used};
        });
}

} // namespace genv::shims::filter
