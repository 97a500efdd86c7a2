// SPDX-License-Identifier: LGPL-2.1-or-later
// Filters lists of processes to those of the environment on a device, which the service reports. A
// process that started within the last two seconds may still be missing.
#include "shims/nvml/filter.hpp"
#include "shims/nvml/filter_report.hpp"
#include "shims/nvml/process_entries.hpp"
#include "shims/nvml/view_cache.hpp"
#include "shims/nvml/visible_handles.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace genv::shims::filter {

namespace {

using nvml::Device;
using nvml::Return;

constexpr unsigned maxEntries = 1U << 16U;
// Large enough for future versions of entries.
constexpr std::size_t largestEntry = 128;

// The layout of the entries in a list.
struct Shape {
    std::size_t pidOffset;
    std::size_t size; // 0: measure it
};

constexpr Shape processShape{0, 0};
static_assert(offsetof(nvml::ProcessV1, pid) == 0 && offsetof(nvml::ProcessV2, pid) == 0 &&
              offsetof(nvml::ProcessDetailV1, pid) == 0);

// Reads the complete list of a device from the driver. `list` is called with a count and a buffer.
struct Entries {
    std::vector<unsigned char> bytes;
    std::size_t size = 0;
};

template <typename List>
Return readAll(List list, const Shape& shape, Entries& entries) {
    for (unsigned room = 64;;) {
        entries.bytes.assign(room * largestEntry, unwritten);
        unsigned count = room;
        const Return answer = list(&count, static_cast<void*>(entries.bytes.data()));
        if (answer == Return::InsufficientSize && room < maxEntries) {
            room = std::clamp(count, 2 * room, maxEntries);
            continue;
        }
        if (answer != Return::Success)
            return answer;
        if (count > room)
            return Return::Unknown;
        entries.size = shape.size;
        if (shape.size == 0 && count > 0)
            entries.size =
                measureEntries(std::span(entries.bytes).first(count * largestEntry), count);
        entries.bytes.resize(count * entries.size);
        return answer;
    }
}

// Reads the PIDs of the environment's processes behind a handle.
Return readPids(const View& view, Device device, std::vector<unsigned>& pids) {
    Scope scope;
    const Return answer = readScope(view, device, scope);
    pids = scope.pids();
    return answer;
}

Return readOwn(const View& view, Device device, const Shape& shape, Entries& entries, auto list) {
    Return answer = readAll(list, shape, entries);
    std::vector<unsigned> pids;
    if (answer == Return::Success)
        answer = readPids(view, device, pids);
    if (answer == Return::Success && entries.size > 0)
        entries.bytes.resize(keepEntries(entries.bytes, entries.size, shape.pidOffset, pids) *
                             entries.size);
    return answer;
}

// Returns a list to the program as NVML does. The count is the capacity on input and the number of
// entries on output. If the capacity is too small, only the number is returned. An entry is never
// larger than what the driver itself would have written.
Return handOver(const Entries& entries, unsigned* count, void* list) {
    const auto found =
        entries.size == 0 ? 0U : static_cast<unsigned>(entries.bytes.size() / entries.size);
    const unsigned room = *count;
    *count = found;
    if (found > room)
        return Return::InsufficientSize;
    if (found > 0)
        std::memcpy(list, entries.bytes.data(), entries.bytes.size());
    return Return::Success;
}

template <Symbol symbol>
Return listed(Device device, unsigned* count, auto* list, const Shape& shape) {
    report(FilterEvent::Processes);
    return guarded([&] {
        const auto view = count != nullptr ? currentView() : nullptr;
        if (!view)
            return callReal<symbol>(device, count, list);
        if (list == nullptr && *count > 0)
            return Return::InvalidArgument;
        Entries entries;
        const Return answer =
            readOwn(*view, device, shape, entries, [&](unsigned* room, void* bytes) {
                return callReal<symbol>(device, room, static_cast<decltype(list)>(bytes));
            });
        return answer == Return::Success ? handOver(entries, count, list) : answer;
    });
}

// Filters samples of processes in an array of known entries that the program has allocated. Hidden
// samples are removed in place.
template <typename Sample>
Return keepSamples(const View& view, Device device, Sample* samples, unsigned* count) {
    std::vector<unsigned> pids;
    const Return answer = readPids(view, device, pids);
    if (answer != Return::Success)
        return answer;
    Sample* const end = std::remove_if(samples, samples + *count, [&](const Sample& sample) {
        return !std::binary_search(pids.begin(), pids.end(), sample.pid);
    });
    *count = static_cast<unsigned>(end - samples);
    return *count > 0 ? Return::Success : Return::NotFound;
}

} // namespace

#define GENV_PROCESS_LIST(name)                                                                    \
    Return name(Device device, unsigned* count, void* list) {                                      \
        return listed<Symbol::name>(device, count, list, processShape);                            \
    }
GENV_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses)
GENV_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2)
GENV_PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3)
GENV_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses)
GENV_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2)
GENV_PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3)
GENV_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses)
GENV_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2)
GENV_PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3)
#undef GENV_PROCESS_LIST

// These are only PIDs, and include processes that have ended, unless the service no longer knows
// them.
Return nvmlDeviceGetAccountingPids(Device device, unsigned* count, unsigned* list) {
    return listed<Symbol::nvmlDeviceGetAccountingPids>(device, count, list, {0, sizeof(unsigned)});
}

Return nvmlDeviceGetEncoderSessions(Device device, unsigned* count, nvml::EncoderSession* list) {
    return listed<Symbol::nvmlDeviceGetEncoderSessions>(
        device, count, list, {offsetof(nvml::EncoderSession, pid), sizeof(nvml::EncoderSession)});
}

Return nvmlDeviceGetFBCSessions(Device device, unsigned* count, nvml::FbcSession* list) {
    return listed<Symbol::nvmlDeviceGetFBCSessions>(
        device, count, list, {offsetof(nvml::FbcSession, pid), sizeof(nvml::FbcSession)});
}

Return nvmlDeviceGetAccountingStats(Device device, unsigned pid, void* result) {
    report(FilterEvent::Processes);
    return guarded([&] {
        const auto view = currentView();
        if (view) {
            std::vector<unsigned> pids;
            const Return answer = readPids(*view, device, pids);
            if (answer != Return::Success)
                return answer;
            if (!std::binary_search(pids.begin(), pids.end(), pid))
                return Return::NotFound;
        }
        return callReal<Symbol::nvmlDeviceGetAccountingStats>(device, pid, result);
    });
}

Return nvmlDeviceGetRunningProcessDetailList(Device device, nvml::ProcessDetailList* result) {
    report(FilterEvent::Processes);
    return guarded([&] {
        const auto view = result != nullptr ? currentView() : nullptr;
        if (!view)
            return callReal<Symbol::nvmlDeviceGetRunningProcessDetailList>(device, result);
        Entries entries;
        const Return answer =
            readOwn(*view, device, processShape, entries, [&](unsigned* room, void* bytes) {
                nvml::ProcessDetailList all{result->version, result->mode, *room,
                                            static_cast<nvml::ProcessDetailV1*>(bytes)};
                const Return given =
                    callReal<Symbol::nvmlDeviceGetRunningProcessDetailList>(device, &all);
                *room = all.count;
                return given;
            });
        if (answer != Return::Success)
            return answer;
        if (result->processes == nullptr)
            result->count = 0;
        return handOver(entries, &result->count, result->processes);
    });
}

Return nvmlDeviceGetProcessUtilization(Device device, nvml::ProcessUtilizationSample* samples,
                                       unsigned* count, unsigned long long since) {
    report(FilterEvent::Processes);
    return guarded([&] {
        const Return answer =
            callReal<Symbol::nvmlDeviceGetProcessUtilization>(device, samples, count, since);
        const auto view = answer == Return::Success && samples != nullptr ? currentView() : nullptr;
        return view ? keepSamples(*view, device, samples, count) : answer;
    });
}

Return nvmlDeviceGetProcessesUtilizationInfo(Device device, nvml::ProcessesUtilizationInfo* info) {
    report(FilterEvent::Processes);
    return guarded([&] {
        const Return answer = callReal<Symbol::nvmlDeviceGetProcessesUtilizationInfo>(device, info);
        const auto view =
            answer == Return::Success && info->samples != nullptr ? currentView() : nullptr;
        return view ? keepSamples(*view, device, info->samples, &info->count) : answer;
    });
}

} // namespace genv::shims::filter
