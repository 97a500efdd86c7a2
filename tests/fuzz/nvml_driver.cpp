// SPDX-License-Identifier: LGPL-2.1-or-later
// A driver with arbitrary answers: the input is the answers of NVML's functions. The service's side
// of the protocol always accepts the sampler's output for them.
//
// This program is the library itself: its symbols are exported, and loading a library with an empty
// name returns the program.
#include "service/gpu/nvml_protocol.hpp"
#include "service/gpu/nvml_sampler.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <set>

namespace genv::fuzz::nvml_driver {

using namespace nvml;
using nvml::Device; // the only handle

// The current input, during one run of the target.
Bytes* driver = nullptr;

Return answered() {
    if (driver == nullptr || driver->isEmpty())
        return Return::NotSupported;
    constexpr std::array results{
        Return::NotSupported,  Return::InvalidArgument, Return::NotFound,      Return::GpuIsLost,
        Return::ResetRequired, Return::Unknown,         Return::Uninitialized, Return::Memory,
        Return::NoPermission,  Return::FunctionNotFound};
    const std::size_t which = driver->below(128);
    return which < results.size() ? results[which] : Return::Success;
}

Return giveNumber(unsigned* number, unsigned max) {
    const Return result = answered();
    const bool isAnything = result == Return::Success && driver->below(16) == 0;
    *number = isAnything ? driver->number32() : static_cast<unsigned>(driver->below(max + 1));
    return result;
}

Return giveText(char* text, unsigned room) {
    const Return result = answered();
    const std::string_view given = driver->text();
    std::memcpy(text, given.data(), std::min<std::size_t>(given.size(), room));
    return result;
}

Device handleOf(std::size_t number) {
    return reinterpret_cast<Device>(number + 1); // NOLINT: nobody looks behind it
}

Return giveHandle(Device* handle) {
    const Return result = answered();
    *handle = handleOf(driver->below(8));
    return result;
}

std::uint64_t amount() {
    return driver->below(8) == 0 ? driver->number64() : std::uint64_t{driver->byte()} << 28U;
}

// Returns entries of any size, more or fewer than the count says.
Return giveProcesses(unsigned* count, void* room) {
    const Return result = answered();
    constexpr std::array sizes{sizeof(ProcessV1), sizeof(ProcessV2), sizeof(ProcessDetailV1)};
    const std::size_t size = sizes[driver->below(sizes.size())];
    const std::size_t entries = std::min<std::size_t>(driver->below(140), *count);
    auto* bytes = static_cast<unsigned char*>(room);
    for (std::size_t i = 0; i < entries; ++i) {
        ProcessDetailV1 entry{driver->number32() >> driver->below(32), amount(), driver->byte(),
                              driver->byte(), 0};
        std::memcpy(bytes + i * size, &entry, size);
    }
    const std::size_t lie = driver->below(8);
    *count = lie == 0 ? driver->number32() : static_cast<unsigned>(entries);
    return lie == 1 ? Return::InsufficientSize : result;
}

// Returns samples of any time, more or fewer than the count says.
Return giveUtilizations(ProcessUtilizationSample* samples, unsigned* count) {
    const Return result = answered();
    const std::size_t given = std::min<std::size_t>(driver->below(140), *count);
    for (std::size_t i = 0; i < given; ++i)
        samples[i] = {driver->number32() >> driver->below(32),
                      driver->number64(),
                      static_cast<unsigned>(driver->below(120)),
                      0,
                      0,
                      0};
    const std::size_t lie = driver->below(8);
    *count = lie == 0 ? driver->number32() : static_cast<unsigned>(given);
    return lie == 1 ? Return::InsufficientSize : result;
}

// Suppresses the helper's messages about failing GPUs.
class WithoutStandardError {
  public:
    WithoutStandardError() : before_(stderr) {
        static std::FILE* const nowhere = std::fopen("/dev/null", "we");
        stderr = nowhere;
    }
    WithoutStandardError(const WithoutStandardError&) = delete;
    WithoutStandardError& operator=(const WithoutStandardError&) = delete;
    ~WithoutStandardError() { stderr = before_; }

  private:
    std::FILE* before_;
};

bool repeatsUuid(const service::NvmlAnswer& answer) {
    const auto* report = std::get_if<service::NvmlReport>(&answer);
    std::set<std::string> uuids;
    return report != nullptr && std::ranges::any_of(report->devices, [&](const auto& device) {
               return !uuids.insert(device.uuid).second;
           });
}

GENV_FUZZ_TARGET(nvml_driver) {
    Bytes bytes(input);
    driver = &bytes;
    std::vector<service::NvmlAnswer> answers;
    {
        const WithoutStandardError quiet;
        service::NvmlSampler sampler("", "/nonexistent", "/nonexistent", "/nonexistent");
        for (int i = 0; i < 3; ++i)
            answers.push_back(sampler.sample());
    }
    driver = nullptr;
    for (const service::NvmlAnswer& answer : answers) {
        const std::string line = service::encodeAnswer(1, answer);
        expect(line.find('\n') == std::string::npos, "an answer is one line");
        try {
            const auto [number, read] = service::decodeAnswer(line);
            expect(service::encodeAnswer(number, read) == line, "the service reads what was sent");
        } catch (const service::ProtocolError&) {
            expect(repeatsUuid(answer), "the service takes what its helper makes of a driver");
        }
    }
}

// Under NVML's own names.
// NOLINTBEGIN
#define GENV_NVML(function, ...)                                                                   \
    extern "C" __attribute__((visibility("default"))) Return function(__VA_ARGS__);                \
    Return function(__VA_ARGS__)

GENV_NVML(nvmlInit_v2) {
    return driver != nullptr && driver->byte() == 1 ? Return::DriverNotLoaded : Return::Success;
}
GENV_NVML(nvmlShutdown) {
    return Return::Success;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Return result);
const char* nvmlErrorString(Return result) {
    static std::string text;
    if (driver == nullptr || result == Return::Unknown)
        return nullptr;
    text = driver->text();
    return text.c_str();
}
GENV_NVML(nvmlDeviceGetCount_v2, unsigned* count) {
    *count = static_cast<unsigned>(driver->below(9));
    return driver->byte() == 1 ? Return::Unknown : Return::Success;
}
GENV_NVML(nvmlDeviceGetHandleByIndex_v2, unsigned, Device* device) {
    return giveHandle(device);
}
GENV_NVML(nvmlDeviceGetUUID, Device, char* text, unsigned room) {
    const Return result = answered();
    const std::size_t which = driver->below(16);
    if (which == 0)
        return giveText(text, room);
    std::snprintf(text, room, "GPU-%zu", which);
    return result;
}
GENV_NVML(nvmlDeviceGetName, Device, char* text, unsigned room) {
    return giveText(text, room);
}
GENV_NVML(nvmlDeviceGetMinorNumber, Device, unsigned* minor) {
    return giveNumber(minor, 255);
}
GENV_NVML(nvmlDeviceGetMemoryInfo_v2, Device, MemoryV2* memory) {
    const Return result = answered();
    *memory = {memory->version, amount(), amount(), amount(), amount()};
    return result;
}
GENV_NVML(nvmlDeviceGetMemoryInfo, Device, MemoryV1* memory) {
    const Return result = answered();
    *memory = {amount(), amount(), amount()};
    return result;
}
GENV_NVML(nvmlDeviceGetUtilizationRates, Device, Utilization* rates) {
    return giveNumber(&rates->gpu, 120);
}
GENV_NVML(nvmlDeviceGetTemperature, Device, unsigned, unsigned* celsius) {
    return giveNumber(celsius, 200);
}
GENV_NVML(nvmlDeviceGetPowerUsage, Device, unsigned* milliwatts) {
    return giveNumber(milliwatts, 200);
}
GENV_NVML(nvmlDeviceGetEnforcedPowerLimit, Device, unsigned* milliwatts) {
    return giveNumber(milliwatts, 200);
}
GENV_NVML(nvmlDeviceGetPciInfo_v3, Device, PciInfo* pci) {
    *pci = {};
    pci->domain = driver->number32() >> driver->below(32);
    pci->bus = driver->number32() >> driver->below(32);
    return giveNumber(&pci->device, 40);
}
GENV_NVML(nvmlSystemGetDriverVersion, char* text, unsigned room) {
    return giveText(text, room);
}
GENV_NVML(nvmlDeviceGetProcessUtilization, Device, ProcessUtilizationSample* samples,
          unsigned* count, unsigned long long) {
    return giveUtilizations(samples, count);
}
GENV_NVML(nvmlDeviceGetMigMode, Device, unsigned* current, unsigned* pending) {
    *pending = 0;
    return giveNumber(current, 1);
}
GENV_NVML(nvmlDeviceGetMaxMigDeviceCount, Device, unsigned* count) {
    return giveNumber(count, 7);
}
GENV_NVML(nvmlDeviceGetMigDeviceHandleByIndex, Device, unsigned, Device* device) {
    return giveHandle(device);
}
GENV_NVML(nvmlDeviceGetGpuInstanceId, Device, unsigned* id) {
    return giveNumber(id, 3);
}
GENV_NVML(nvmlDeviceGetComputeInstanceId, Device, unsigned* id) {
    return giveNumber(id, 3);
}
GENV_NVML(nvmlDeviceGetComputeRunningProcesses_v3, Device, unsigned* count, void* room) {
    return giveProcesses(count, room);
}
GENV_NVML(nvmlDeviceGetMPSComputeRunningProcesses, Device, unsigned* count, void* room) {
    return giveProcesses(count, room);
}
GENV_NVML(nvmlEventSetCreate, EventSet* set) {
    *set = reinterpret_cast<EventSet>(handleOf(0));
    return answered();
}
GENV_NVML(nvmlEventSetFree, EventSet) {
    return Return::Success;
}
GENV_NVML(nvmlDeviceRegisterEvents, Device, unsigned long long, EventSet) {
    return answered();
}
GENV_NVML(nvmlEventSetWait_v2, EventSet, EventData* event, unsigned) {
    if (driver->isEmpty() || driver->byte() % 4 == 0)
        return Return::Timeout;
    *event = {handleOf(driver->below(8)), eventXidCriticalError, driver->number32() >> 24U,
              driver->byte() % 2 == 0 ? noInstance : driver->byte(), noInstance};
    return Return::Success;
}
#undef GENV_NVML
// NOLINTEND

} // namespace genv::fuzz::nvml_driver
