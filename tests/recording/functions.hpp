// SPDX-License-Identifier: LGPL-2.1-or-later
// The NVML functions about a device that a recording keeps, and the kinds of functions there are. A
// new line in the table is all that the recorder and the replaying library need.
//
// Each kind can `ask` the driver and returns the answer as JSON, can `give` such an answer to a
// caller, and can `check` one. GENV_PARAMETERS_KIND are the parameters of such a function after the
// device, and GENV_ARGUMENTS_KIND their names.
#pragma once

#include "tests/recording/answers.hpp"

// clang-format off
#define GENV_RECORDED(X)                                             \
    X(nvmlDeviceGetUUID, Text)                                       \
    X(nvmlDeviceGetName, Text)                                       \
    X(nvmlDeviceGetSerial, Text)                                     \
    X(nvmlDeviceGetIndex, Number)                                    \
    X(nvmlDeviceGetMinorNumber, Number)                              \
    X(nvmlDeviceGetPciInfo_v3, Pci)                                  \
    X(nvmlDeviceGetMemoryInfo, Memory)                               \
    X(nvmlDeviceGetMemoryInfo_v2, MemoryWithReserve)                 \
    X(nvmlDeviceGetUtilizationRates, Rates)                          \
    X(nvmlDeviceGetTemperature, Temperature)                         \
    X(nvmlDeviceGetFanSpeed, Number)                                 \
    X(nvmlDeviceGetPowerUsage, Number)                               \
    X(nvmlDeviceGetPowerManagementLimit, Number)                     \
    X(nvmlDeviceGetEnforcedPowerLimit, Number)                       \
    X(nvmlDeviceGetPerformanceState, Number)                         \
    X(nvmlDeviceGetPersistenceMode, Number)                          \
    X(nvmlDeviceGetComputeMode, Number)                              \
    X(nvmlDeviceGetMigMode, Pair)                                    \
    X(nvmlDeviceGetMaxMigDeviceCount, Number)                        \
    X(nvmlDeviceIsMigDeviceHandle, Number)                           \
    X(nvmlDeviceGetGpuInstanceId, Number)                            \
    X(nvmlDeviceGetComputeInstanceId, Number)                        \
    X(nvmlDeviceGetSupportedEventTypes, Mask)                        \
    X(nvmlDeviceGetComputeRunningProcesses, OldProcesses)            \
    X(nvmlDeviceGetComputeRunningProcesses_v2, Processes)            \
    X(nvmlDeviceGetComputeRunningProcesses_v3, Processes)            \
    X(nvmlDeviceGetGraphicsRunningProcesses, OldProcesses)           \
    X(nvmlDeviceGetGraphicsRunningProcesses_v2, Processes)           \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3, Processes)           \
    X(nvmlDeviceGetMPSComputeRunningProcesses, OldProcesses)         \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v2, Processes)         \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v3, Processes)         \
    X(nvmlDeviceGetRunningProcessDetailList, Details)                \
    X(nvmlDeviceGetProcessUtilization, Samples)                      \
    X(nvmlDeviceGetProcessesUtilizationInfo, SamplesInfo)            \
    X(nvmlDeviceGetAccountingPids, Pids)                             \
    X(nvmlDeviceGetAccountingStats, Accounting)                      \
    X(nvmlDeviceGetEncoderSessions, EncoderSessions)                 \
    X(nvmlDeviceGetFBCSessions, FbcSessions)
// clang-format on

namespace genv::recording {

/// A function that writes one value.
template <typename T>
struct Single {
    using Type = Return(Device, T*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        T value{};
        if constexpr (requires { value.version; })
            value.version = nvml::memoryV2Version;
        const Return result = function(device, &value);
        return answerOf(result, encode(value));
    }
    static Return give(const json& answer, T* out) {
        if constexpr (requires { out->version; }) {
            if (out->version != nvml::memoryV2Version)
                return Return::ArgumentVersionMismatch;
        }
        const Return result = resultOf(answer);
        if (result == Return::Success)
            decode(memberOf(answer, "value"), *out);
        return result;
    }
    static void check(const json& answer) {
        T value{};
        if constexpr (requires { value.version; })
            value.version = nvml::memoryV2Version;
        give(answer, &value);
    }
};
using Number = Single<unsigned>;
using Mask = Single<unsigned long long>;
using Pci = Single<nvml::PciInfo>;
using Memory = Single<nvml::MemoryV1>;
using MemoryWithReserve = Single<nvml::MemoryV2>;
using Rates = Single<nvml::Utilization>;
#define GENV_PARAMETERS_Number unsigned* value
#define GENV_ARGUMENTS_Number value
#define GENV_PARAMETERS_Mask unsigned long long* value
#define GENV_ARGUMENTS_Mask value
#define GENV_PARAMETERS_Pci nvml::PciInfo* value
#define GENV_ARGUMENTS_Pci value
#define GENV_PARAMETERS_Memory nvml::MemoryV1* value
#define GENV_ARGUMENTS_Memory value
#define GENV_PARAMETERS_MemoryWithReserve nvml::MemoryV2* value
#define GENV_ARGUMENTS_MemoryWithReserve value
#define GENV_PARAMETERS_Rates nvml::Utilization* value
#define GENV_ARGUMENTS_Rates value

struct Text {
    using Type = Return(Device, char*, unsigned);
    static json ask(Type* function, Device device, const json& /*known*/) {
        char text[nvml::nameBufferSize] = {};
        const Return result = function(device, text, sizeof(text));
        return answerOf(result, encode(text));
    }
    static Return give(const json& answer, char* buffer, unsigned size) {
        const Return result = resultOf(answer);
        if (result != Return::Success)
            return result;
        char text[nvml::nameBufferSize];
        decode(memberOf(answer, "value"), text);
        const std::size_t length = std::strlen(text) + 1;
        if (length > size)
            return Return::InsufficientSize;
        std::memcpy(buffer, text, length);
        return result;
    }
    static void check(const json& answer) {
        char text[nvml::nameBufferSize];
        give(answer, text, sizeof(text));
    }
};
#define GENV_PARAMETERS_Text char *buffer, unsigned size
#define GENV_ARGUMENTS_Text buffer, size

/// Two numbers: the current and the pending mode.
struct Pair {
    using Type = Return(Device, unsigned*, unsigned*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        unsigned first = 0;
        unsigned second = 0;
        const Return result = function(device, &first, &second);
        return answerOf(result, json::array({encode(first), encode(second)}));
    }
    static Return give(const json& answer, unsigned* first, unsigned* second) {
        const Return result = resultOf(answer);
        if (result != Return::Success)
            return result;
        const auto pair = decodeList<unsigned>(memberOf(answer, "value"));
        if (pair.size() != 2)
            throw Invalid("expected two numbers");
        *first = pair[0];
        *second = pair[1];
        return result;
    }
    static void check(const json& answer) {
        unsigned first = 0;
        unsigned second = 0;
        give(answer, &first, &second);
    }
};
#define GENV_PARAMETERS_Pair unsigned *first, unsigned *second
#define GENV_ARGUMENTS_Pair first, second

/// Answers for each parameter.
inline const json& answerFor(const json& answer, unsigned parameter) {
    static const json unknown = answerOf(Return::InvalidArgument);
    const json& all = memberOf(answer, "of");
    const auto found = all.find(std::to_string(parameter));
    return found == all.end() ? unknown : *found;
}

/// The temperature at a sensor. There is one: the GPU.
struct Temperature {
    using Type = Return(Device, unsigned, unsigned*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        unsigned celsius = 0;
        const Return result = function(device, nvml::temperatureOfGpu, &celsius);
        return answerOf(result, encode(celsius));
    }
    static Return give(const json& answer, unsigned sensor, unsigned* celsius) {
        if (sensor != nvml::temperatureOfGpu)
            return Return::InvalidArgument;
        return Number::give(answer, celsius);
    }
    static void check(const json& answer) { Number::check(answer); }
};
#define GENV_PARAMETERS_Temperature unsigned sensor, unsigned *value
#define GENV_ARGUMENTS_Temperature sensor, value

/// A list whose entries have one form.
template <typename Entry>
struct List {
    using Type = Return(Device, unsigned*, Entry*);
    static json ask(auto function, Device device, const json& /*known*/) {
        std::vector<Entry> entries(maxEntries);
        unsigned count = maxEntries;
        const Return result = function(device, &count, entries.data());
        return answerOf(result, result == Return::Success ? encodeList(entries, count) : json());
    }
    static Return give(const json& answer, unsigned* count, Entry* out) {
        const Return result = resultOf(answer);
        if (result != Return::Success)
            return result;
        return handOver(decodeList<Entry>(memberOf(answer, "value")), count, out);
    }
    static void check(const json& answer) {
        unsigned none = 0;
        give(answer, &none, nullptr);
    }
};
using Pids = List<unsigned>;
using EncoderSessions = List<nvml::EncoderSession>;
using FbcSessions = List<nvml::FbcSession>;
#define GENV_PARAMETERS_Pids unsigned *count, unsigned *out
#define GENV_ARGUMENTS_Pids count, out
#define GENV_PARAMETERS_EncoderSessions unsigned *count, nvml::EncoderSession *out
#define GENV_ARGUMENTS_EncoderSessions count, out
#define GENV_PARAMETERS_FbcSessions unsigned *count, nvml::FbcSession *out
#define GENV_ARGUMENTS_FbcSessions count, out

/// A list of processes. Drivers write entries of other sizes than documented, so the size is kept.
template <std::size_t documentedSize>
struct ProcessList {
    using Type = Return(Device, unsigned*, void*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        constexpr unsigned char unwritten = 0xa5;
        std::vector<unsigned char> buffer(maxEntries * sizeof(nvml::ProcessDetailV1), unwritten);
        unsigned count = maxEntries;
        const Return result = function(device, &count, buffer.data());
        count = std::min(count, maxEntries);
        const auto last = std::find_if(buffer.rbegin(), buffer.rend(),
                                       [](unsigned char byte) { return byte != unwritten; });
        const auto written = static_cast<std::size_t>(buffer.rend() - last);
        std::size_t size = documentedSize;
        for (const std::size_t one : sizes) {
            if (count > 0 && written == one * count)
                size = one;
        }
        json entries = json::array();
        for (unsigned i = 0; i < count; ++i)
            entries.push_back(encodeEntry(buffer.data() + i * size, size));
        return answerOf(result, {{"entry_size", size}, {"entries", std::move(entries)}});
    }
    static Return give(const json& answer, unsigned* count, void* out) {
        const Return result = resultOf(answer);
        if (result != Return::Success)
            return result;
        const json& value = memberOf(answer, "value");
        unsigned size = 0;
        decode(memberOf(value, "entry_size"), size);
        if (std::find(sizes.begin(), sizes.end(), size) == sizes.end())
            throw Invalid("expected an \"entry_size\" of 16, 24 or 32");
        const auto list = decodeList<nvml::ProcessDetailV1>(memberOf(value, "entries"));
        const unsigned room = out == nullptr ? 0 : *count;
        *count = static_cast<unsigned>(list.size());
        if (list.size() > room)
            return Return::InsufficientSize;
        for (std::size_t i = 0; i < list.size(); ++i)
            std::memcpy(static_cast<unsigned char*>(out) + i * size, &list[i], size);
        return result;
    }
    static void check(const json& answer) {
        unsigned none = 0;
        give(answer, &none, nullptr);
    }

  private:
    static constexpr std::array<std::size_t, 3> sizes{
        sizeof(nvml::ProcessV1), sizeof(nvml::ProcessV2), sizeof(nvml::ProcessDetailV1)};
    static json encodeEntry(const unsigned char* entry, std::size_t size) {
        nvml::ProcessDetailV1 process;
        std::memset(&process, 0xff, sizeof(process)); // what an entry lacks is unknown
        std::memcpy(&process, entry, size);
        return encode(process);
    }
};
using OldProcesses = ProcessList<sizeof(nvml::ProcessV1)>;
using Processes = ProcessList<sizeof(nvml::ProcessV2)>;
#define GENV_PARAMETERS_OldProcesses unsigned *count, void *out
#define GENV_ARGUMENTS_OldProcesses count, out
#define GENV_PARAMETERS_Processes unsigned *count, void *out
#define GENV_ARGUMENTS_Processes count, out

/// The processes of a mode: compute 0, graphics 1, MPS 2.
struct Details {
    using Type = Return(Device, nvml::ProcessDetailList*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        json all = json::object();
        for (unsigned mode = 0; mode < modes; ++mode) {
            std::vector<nvml::ProcessDetailV1> entries(maxEntries);
            nvml::ProcessDetailList request{nvml::processDetailListVersion, mode, maxEntries,
                                            entries.data()};
            const Return result = function(device, &request);
            all[std::to_string(mode)] = answerOf(
                result, result == Return::Success ? encodeList(entries, request.count) : json());
        }
        return {{"of", std::move(all)}};
    }
    static Return give(const json& answer, nvml::ProcessDetailList* request) {
        if (request->version != nvml::processDetailListVersion)
            return Return::ArgumentVersionMismatch;
        return List<nvml::ProcessDetailV1>::give(answerFor(answer, request->mode), &request->count,
                                                 request->processes);
    }
    static void check(const json& answer) {
        for (unsigned mode = 0; mode < modes; ++mode)
            List<nvml::ProcessDetailV1>::check(answerFor(answer, mode));
    }

  private:
    static constexpr unsigned modes = 3;
};
#define GENV_PARAMETERS_Details nvml::ProcessDetailList* request
#define GENV_ARGUMENTS_Details request

/// Every sample that the driver keeps.
struct Samples {
    using Type = Return(Device, nvml::ProcessUtilizationSample*, unsigned*, unsigned long long);
    static json ask(Type* function, Device device, const json& known) {
        return List<nvml::ProcessUtilizationSample>::ask(
            [function](Device of, unsigned* count, nvml::ProcessUtilizationSample* out) {
                return function(of, out, count, 0);
            },
            device, known);
    }
    static Return give(const json& answer, nvml::ProcessUtilizationSample* out, unsigned* count,
                       unsigned long long /*since*/) {
        return List<nvml::ProcessUtilizationSample>::give(answer, count, out);
    }
    static void check(const json& answer) { List<nvml::ProcessUtilizationSample>::check(answer); }
};
#define GENV_PARAMETERS_Samples                                                                    \
    nvml::ProcessUtilizationSample *out, unsigned *count, unsigned long long since
#define GENV_ARGUMENTS_Samples out, count, since

struct SamplesInfo {
    using Type = Return(Device, nvml::ProcessesUtilizationInfo*);
    static json ask(Type* function, Device device, const json& /*known*/) {
        std::vector<nvml::ProcessUtilizationInfo> entries(maxEntries);
        nvml::ProcessesUtilizationInfo request{nvml::processesUtilizationInfoVersion, maxEntries, 0,
                                               entries.data()};
        const Return result = function(device, &request);
        return answerOf(result,
                        result == Return::Success ? encodeList(entries, request.count) : json());
    }
    static Return give(const json& answer, nvml::ProcessesUtilizationInfo* request) {
        if (request->version != nvml::processesUtilizationInfoVersion)
            return Return::ArgumentVersionMismatch;
        return List<nvml::ProcessUtilizationInfo>::give(answer, &request->count, request->samples);
    }
    static void check(const json& answer) { List<nvml::ProcessUtilizationInfo>::check(answer); }
};
#define GENV_PARAMETERS_SamplesInfo nvml::ProcessesUtilizationInfo* request
#define GENV_ARGUMENTS_SamplesInfo request

/// The accounting of each process that the driver lists as using the device now or before. `known`
/// has the answers that were recorded before this one.
struct Accounting {
    using Type = Return(Device, unsigned, AccountingStats*);
    static json ask(Type* function, Device device, const json& known) {
        json all = json::object();
        const json none = answerOf(Return::NotFound);
        const json pids = known.value("nvmlDeviceGetAccountingPids", none).value("value", json());
        for (const json& pid : pids) {
            AccountingStats stats{};
            const Return result = function(device, pid.get<unsigned>(), &stats);
            all[pid.dump()] = answerOf(result, encode(stats));
        }
        return {{"of", std::move(all)}};
    }
    static Return give(const json& answer, unsigned pid, AccountingStats* out) {
        if (!memberOf(answer, "of").contains(std::to_string(pid)))
            return Return::NotFound;
        return Single<AccountingStats>::give(answerFor(answer, pid), out);
    }
    static void check(const json& answer) {
        for (const auto& [pid, of] : memberOf(answer, "of").items())
            Single<AccountingStats>::check(of);
    }
};
#define GENV_PARAMETERS_Accounting unsigned pid, genv::recording::AccountingStats *out
#define GENV_ARGUMENTS_Accounting pid, out

} // namespace genv::recording
