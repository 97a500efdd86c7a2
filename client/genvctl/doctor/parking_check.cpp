// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks whether environments can be parked here: NVIDIA's driver must be able to move the memory
// of a process to the host, and to keep its state while no process uses the GPU.
#include "client/genvctl/doctor/parking_check.hpp"

#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "client/genvctl/doctor/driver.hpp"
#include "client/genvctl/doctor/units.hpp"
#include "core/sentences/sentences.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <memory>

namespace genv::ctl::doctor {

namespace {

using enum DoctorVerdict;

using Library = std::unique_ptr<void, int (*)(void*)>;

Library load(const char* name) {
    return {dlopen(name, RTLD_LAZY), &dlclose};
}

template <typename... Args>
bool succeeds(const Library& library, const char* name, Args... args) {
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library.get(), name));
    return function != nullptr && function(args...) == 0;
}

// Asks NVML (nvmlDeviceGetPersistenceMode). GPUs that this user may not open are not listed.
std::optional<std::vector<core::DeviceIndex>> gpusWithoutPersistence() {
    const Library nvml = load("libnvidia-ml.so.1");
    unsigned count = 0;
    if (nvml == nullptr || !succeeds(nvml, "nvmlInit_v2") ||
        !succeeds(nvml, "nvmlDeviceGetCount_v2", &count))
        return std::nullopt;
    std::vector<core::DeviceIndex> found;
    for (unsigned index = 0; index < count; ++index) {
        void* device = nullptr;
        int mode = 1;
        if (succeeds(nvml, "nvmlDeviceGetHandleByIndex_v2", index, &device) &&
            succeeds(nvml, "nvmlDeviceGetPersistenceMode", device, &mode) && mode == 0)
            found.push_back(index);
    }
    return found;
}

std::string stateOfSocket() {
    try {
        const SystemBus bus;
        const auto unit = unitAt(bus, unitPath("genv-park.socket").c_str());
        return unit ? unit->active : "";
    } catch (const NoBus&) {
        return ""; // reported by the check of the bus
    } catch (const CallFailed&) {
        return "failed";
    }
}

} // namespace

std::optional<core::Bytes> availableMemory(const SystemPlaces& places) {
    std::ifstream file(places.at("/proc/meminfo"));
    for (std::string key; file >> key; file.ignore(std::numeric_limits<int>::max(), '\n')) {
        std::uint64_t kibibytes = 0;
        if (key == "MemAvailable:" && file >> kibibytes)
            return core::Bytes{kibibytes * 1024};
    }
    return std::nullopt;
}

DoctorFinding judgeParking(const ParkingFacts& facts) {
    if (!facts.module)
        return {Ok, "NVIDIA's driver is not loaded", ""};
    if (!facts.hasLibrary)
        return {Warning, "libcuda.so.1 is not installed, so no environment can be parked",
                "Install the driver's CUDA library; Debian's package is libcuda1."};
    if (!facts.hasFunctions)
        return {Ok,
                fmt::format("NVIDIA's driver {} cannot park; driver 570 and later can, on x86-64",
                            *facts.module),
                ""};
    if (!facts.socket.empty() && facts.socket != "active")
        return {
            Warning,
            fmt::format("genv-park.socket is {}, so no environment can be parked", facts.socket),
            "As root: systemctl start genv-park.socket"};
    if (facts.notPersistent && !facts.notPersistent->empty())
        return {Warning,
                fmt::format("persistence mode is off: environments with {} cannot be parked",
                            core::nameGpus(*facts.notPersistent)),
                "As root: systemctl enable --now nvidia-persistenced, or nvidia-smi -pm 1"};
    std::string found = fmt::format("NVIDIA's driver {} can park", *facts.module);
    if (facts.available)
        found += fmt::format("; {} of host memory are free", core::nameMemory(*facts.available));
    return {Ok, std::move(found), ""};
}

DoctorFinding checkParking(const SystemPlaces& places) {
    ParkingFacts facts;
    facts.module = readDriverFacts(places).module;
    if (!facts.module)
        return judgeParking(facts);
    const Library cuda = load("libcuda.so.1");
    facts.hasLibrary = cuda != nullptr;
    facts.hasFunctions =
        facts.hasLibrary && dlsym(cuda.get(), "cuCheckpointProcessLock") != nullptr;
    facts.notPersistent = gpusWithoutPersistence();
    facts.available = availableMemory(places);
    facts.socket = stateOfSocket();
    return judgeParking(facts);
}

} // namespace genv::ctl::doctor
