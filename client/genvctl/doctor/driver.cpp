// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/doctor/driver.hpp"

#include "client/genvctl/common/listed_devices.hpp"
#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/doctor/checks.hpp"
#include "core/sentences/sentences.hpp"
#include "dbus/contract/names.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

namespace genv::ctl::doctor {

namespace {

namespace fs = std::filesystem;
using enum DoctorVerdict;

constexpr const char* libraryName = "libnvidia-ml.so.1";

std::string firstLine(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

unsigned countGpus(const fs::path& bus) {
    unsigned count = 0;
    std::error_code none;
    for (const auto& device : fs::directory_iterator(bus, none)) {
        const std::string kind = firstLine(device.path() / "class");
        const bool isDisplay = kind.starts_with("0x0300") || kind.starts_with("0x0302");
        if (isDisplay && firstLine(device.path() / "vendor") == "0x10de")
            ++count;
    }
    return count;
}

// Returns the first word with a digit and a dot in "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 535.183.01 ...".
std::optional<std::string> moduleVersion(const fs::path& file) {
    std::ifstream stream(file);
    for (std::string word; stream >> word;) {
        if (word.find('.') != std::string::npos &&
            word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    }
    std::error_code none;
    return fs::exists(file, none) ? std::optional<std::string>("of an unknown version")
                                  : std::nullopt;
}

// The name of the library is a link to libnvidia-ml.so.VERSION.
void findLibrary(DriverFacts& facts) {
    const std::unique_ptr<void, int (*)(void*)> library(dlopen(libraryName, RTLD_LAZY), &dlclose);
    facts.hasLibrary = library != nullptr;
    Dl_info info{};
    void* function = facts.hasLibrary ? dlsym(library.get(), "nvmlInit_v2") : nullptr;
    if (function == nullptr || dladdr(function, &info) == 0)
        return;
    std::error_code none;
    const std::string file = fs::canonical(info.dli_fname, none).filename();
    constexpr std::string_view before = "libnvidia-ml.so.";
    if (file.starts_with(before) && file.find('.', before.size()) != std::string::npos)
        facts.library = file.substr(before.size());
}

// Reads the facts from genvd. Leaves them unset if it does not reply.
void askService(DriverFacts& facts) {
    try {
        const SystemBus bus;
        unsigned count = 0;
        for (const ListedDevice& device : listDevices(bus)) {
            ++count;
            const BusObject object{dbus::contract::busName, device.path.c_str(), "dev.genv.Device"};
            const auto health = bus.property<std::string>(object, "Health");
            if (const auto bytes = bus.property<std::uint64_t>(object, "UnaccountedMemory");
                bytes > 0)
                facts.unaccounted +=
                    fmt::format("{}GPU {}: {}", facts.unaccounted.empty() ? "" : ", ", device.index,
                                core::describeUnaccounted({bytes}));
            if (health != "ok")
                facts.unhealthy += fmt::format("{}GPU {}: {}", facts.unhealthy.empty() ? "" : ", ",
                                               device.index, health);
        }
        facts.devices = count;
    } catch (const NoBus&) {
        // Reported by the check of the bus.
    } catch (const CallFailed&) {
        // Reported by the check of the service.
    }
}

std::string gpus(unsigned count, const char* kind = "") {
    return fmt::format("{} {}GPU{}", count, kind, count == 1 ? "" : "s");
}

} // namespace

DriverFacts readDriverFacts(const SystemPlaces& places) {
    DriverFacts facts;
    facts.gpus = countGpus(places.at("/sys/bus/pci/devices"));
    facts.module = moduleVersion(places.at("/proc/driver/nvidia/version"));
    findLibrary(facts);
    return facts;
}

DoctorFinding judgeDriver(const DriverFacts& facts) {
    if (!facts.module && facts.devices.value_or(0) > 0)
        return {
            facts.unhealthy.empty() ? Warning : Problem,
            fmt::format("{}: NVIDIA's driver is not loaded", gpus(*facts.devices, "simulated ")),
            "For real GPUs, restart genvd without Backend=simulated and GENV_MOCK_DEVICE_COUNT."};
    if (!facts.module && facts.gpus == 0)
        return {Warning, "no NVIDIA GPU in this machine", "genv has nothing to share here."};
    if (!facts.module)
        return {Problem, fmt::format("{}, but no driver is loaded", gpus(facts.gpus, "NVIDIA ")),
                "As root: modprobe nvidia. If that fails, install NVIDIA's driver."};
    if (!facts.hasLibrary)
        return {Problem,
                fmt::format("NVIDIA's driver {} is loaded, but {} is not installed", *facts.module,
                            libraryName),
                "Install the driver's library; Debian's package is libnvidia-ml1."};
    if (!facts.library.empty() && facts.library != *facts.module)
        return {Problem,
                fmt::format("NVIDIA's loaded driver is {}, but its library is {}", *facts.module,
                            facts.library),
                "Restart the machine: the driver was upgraded while it was loaded."};
    if (!facts.unhealthy.empty())
        return {Problem, facts.unhealthy, "See \"nvidia-smi -q\"; genv offers these GPUs last."};
    if (!facts.unaccounted.empty())
        return {Warning, facts.unaccounted,
                "Look for zombie processes and virtual machines. genv offers these GPUs last."};
    if (facts.devices == 0U)
        return {Problem,
                fmt::format("NVIDIA's driver {} is loaded, but genvd sees no GPU", *facts.module),
                "As root: journalctl -u genvd -u 'genv-nvml@*'"};
    return {Ok,
            fmt::format("NVIDIA's driver {}, {}", *facts.module,
                        gpus(facts.devices.value_or(facts.gpus))),
            ""};
}

DoctorFinding checkDriver(const SystemPlaces& places) {
    DriverFacts facts = readDriverFacts(places);
    askService(facts);
    return judgeDriver(facts);
}

} // namespace genv::ctl::doctor
