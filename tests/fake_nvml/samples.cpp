// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's further data on processes: utilization, accounting and sessions, generated for each
// process of the file, of any type. "sessions": true gives a process one session with each codec.
#include "tests/fake_nvml/machine.hpp"

using namespace genv::fake_nvml;

namespace {

// Calls `add` with the PID and the JSON of each process on a device.
template <typename Add>
void forEachProcess(const FoundDevice& found, Add add) {
    for (const json& process : member(found.values, "processes"))
        add(process["pid"].get<unsigned>(), process);
    if (found.isMig())
        return;
    for (const json& instance : member(found.gpu, "mig")) {
        for (const json& process : member(instance, "processes"))
            add(process["pid"].get<unsigned>(), process);
    }
}

// Returns a list in the way of NVML.
template <typename Entry>
void handOver(const std::vector<Entry>& list, unsigned* count, Entry* out) {
    const unsigned room = *count;
    *count = static_cast<unsigned>(list.size());
    if (list.size() > room)
        throw Refusal{Return::InsufficientSize};
    std::copy(list.begin(), list.end(), out);
}

// NVML reports "not found" if there are no samples.
template <typename Entry>
void handOverSamples(const std::vector<Entry>& list, unsigned* count, Entry* out) {
    if (list.empty())
        throw Refusal{Return::NotFound};
    handOver(list, out != nullptr ? count : &(*count = 0), out);
}

template <typename Entry, typename Make>
Return listSessions(const char* function, nvml::Device device, unsigned* count, Entry* out,
                    Make make) {
    return callOn(device, function, [&](const FoundDevice& found) {
        std::vector<Entry> list;
        forEachProcess(found, [&](unsigned pid, const json& process) {
            if (process.value("sessions", false))
                list.push_back(make(pid));
        });
        handOver(list, count, out);
    });
}

} // namespace

FAKE_NVML_EXPORT Return nvmlDeviceGetProcessUtilization(nvml::Device device,
                                                        nvml::ProcessUtilizationSample* samples,
                                                        unsigned* count,
                                                        unsigned long long /*since*/) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        std::vector<nvml::ProcessUtilizationSample> list;
        const json one = json::array({json::array({1, 50})});
        forEachProcess(found, [&](unsigned pid, const json& process) {
            for (const json& sample : process.value("utilization", one))
                list.push_back(
                    {pid, sample[0].get<unsigned>(), sample[1].get<unsigned>(), 40, 30, 20});
        });
        handOverSamples(list, count, samples);
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetAccountingPids(nvml::Device device, unsigned* count,
                                                    unsigned* pids) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        std::vector<unsigned> list;
        forEachProcess(found, [&](unsigned pid, const json&) { list.push_back(pid); });
        handOver(list, count, pids);
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetAccountingStats(nvml::Device device, unsigned pid,
                                                     void* stats) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        bool isThere = false;
        forEachProcess(found,
                       [&](unsigned other, const json&) { isThere = isThere || other == pid; });
        if (!isThere)
            throw Refusal{Return::NotFound};
        *static_cast<unsigned*>(stats) = 50; // gpuUtilization
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetEncoderSessions(nvml::Device device, unsigned* count,
                                                     nvml::EncoderSession* sessions) {
    return listSessions(__func__, device, count, sessions, [](unsigned pid) {
        return nvml::EncoderSession{1, pid, 0, 0, 0, 0, 0, 0};
    });
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlDeviceGetFBCSessions(nvml::Device device, unsigned* count,
                                                 nvml::FbcSession* sessions) {
    return listSessions(__func__, device, count, sessions, [](unsigned pid) {
        return nvml::FbcSession{1, pid, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    });
}

FAKE_NVML_EXPORT Return
nvmlDeviceGetProcessesUtilizationInfo(nvml::Device device, nvml::ProcessesUtilizationInfo* info) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (info->version != nvml::processesUtilizationInfoVersion)
            throw Refusal{Return::ArgumentVersionMismatch};
        std::vector<nvml::ProcessUtilizationInfo> list;
        forEachProcess(found, [&](unsigned pid, const json&) {
            list.push_back({1, pid, 50, 40, 30, 20, 10, 5});
        });
        handOverSamples(list, &info->count, info->samples);
    });
}

FAKE_NVML_EXPORT Return nvmlDeviceGetRunningProcessDetailList(nvml::Device device,
                                                              nvml::ProcessDetailList* details) {
    return callOn(device, __func__, [&](const FoundDevice& found) {
        if (details->version != nvml::processDetailListVersion)
            throw Refusal{Return::ArgumentVersionMismatch};
        constexpr const char* types[] = {"compute", "graphics", "mps"};
        std::vector<nvml::ProcessDetailV1> list;
        forEachProcess(found, [&](unsigned pid, const json& process) {
            const json& memory = member(process, "memory");
            if (process.value("type", "compute") == types[details->mode])
                list.push_back(
                    {pid, memory.is_null() ? nvml::valueNotAvailable : memory.get<std::uint64_t>(),
                     nvml::noInstance, nvml::noInstance, 0});
        });
        handOver(list, &details->count, details->processes);
    });
}
#endif
