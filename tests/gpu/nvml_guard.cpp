// SPDX-License-Identifier: LGPL-2.1-or-later
// A library for LD_PRELOAD around genv-nvml, between it and the real driver:
//
// - With GENV_KIT_GUARD=1 a list of processes fails if one of them is neither in this mount
// namespace nor in the control
//   group GENV_KIT_GROUP. A rule of the tested genvd therefore cannot end a program of somebody
//   else, even if it starts while the rule is in force.
// - While the file GENV_KIT_HANG exists, the lists of processes do not return: a driver that hangs.
//
// genv-nvml finds NVML's functions by dlsym(3), so this library replaces that.
#include "core/model/nvml_abi.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

namespace nvml = genv::nvml;

using List = nvml::Return (*)(nvml::Device device, unsigned* count, void* entries);
using FindSymbol = void* (*)(void* handle, const char* name);

constexpr useconds_t hangStep = 10'000;

bool isInGroup(const std::string& process, const char* group) {
    std::ifstream file(process + "/cgroup");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::") && line.ends_with(group))
            return true;
    }
    return false;
}

bool isOurs(unsigned pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    struct stat own {};
    struct stat other {};
    if (::stat("/proc/self/ns/mnt", &own) == 0 &&
        ::stat((process + "/ns/mnt").c_str(), &other) == 0 && own.st_ino == other.st_ino)
        return true;
    const char* group = std::getenv("GENV_KIT_GROUP");
    return group != nullptr && isInGroup(process, group);
}

// Each entry begins with its PID. The first drivers of R535 write larger entries; then a number
// that is no PID is read here, and the list fails.
bool areOurs(unsigned count, const void* entries, std::size_t size) {
    const bool isGuarded = std::getenv("GENV_KIT_GUARD") != nullptr;
    const auto* bytes = static_cast<const unsigned char*>(entries);
    for (unsigned i = 0; isGuarded && i < count; ++i) {
        unsigned pid = 0;
        std::memcpy(&pid, bytes + i * size, sizeof pid);
        if (!isOurs(pid))
            return false;
    }
    return true;
}

void hangIfWanted() {
    const char* file = std::getenv("GENV_KIT_HANG");
    while (file != nullptr && ::access(file, F_OK) == 0)
        ::usleep(hangStep);
}

struct Guarded {
    const char* name;
    std::size_t entrySize;
    List real;
};

std::array<Guarded, 9> guarded{{
    {"nvmlDeviceGetComputeRunningProcesses", sizeof(nvml::ProcessV1), nullptr},
    {"nvmlDeviceGetGraphicsRunningProcesses", sizeof(nvml::ProcessV1), nullptr},
    {"nvmlDeviceGetMPSComputeRunningProcesses", sizeof(nvml::ProcessV1), nullptr},
    {"nvmlDeviceGetComputeRunningProcesses_v2", sizeof(nvml::ProcessV2), nullptr},
    {"nvmlDeviceGetGraphicsRunningProcesses_v2", sizeof(nvml::ProcessV2), nullptr},
    {"nvmlDeviceGetMPSComputeRunningProcesses_v2", sizeof(nvml::ProcessV2), nullptr},
    {"nvmlDeviceGetComputeRunningProcesses_v3", sizeof(nvml::ProcessV2), nullptr},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", sizeof(nvml::ProcessV2), nullptr},
    {"nvmlDeviceGetMPSComputeRunningProcesses_v3", sizeof(nvml::ProcessV2), nullptr},
}};

// One function for each place, because NVML's functions pass nothing that could name the guarded
// one.
template <std::size_t place>
nvml::Return list(nvml::Device device, unsigned* count, void* entries) {
    hangIfWanted();
    const Guarded& function = guarded[place];
    const nvml::Return result = function.real(device, count, entries);
    if (result == nvml::Return::Success && entries != nullptr &&
        !areOurs(*count, entries, function.entrySize))
        return nvml::Return::Unknown;
    return result;
}

constexpr std::array<List, guarded.size()> guards{list<0>, list<1>, list<2>, list<3>, list<4>,
                                                  list<5>, list<6>, list<7>, list<8>};

FindSymbol realFindSymbol() {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
        if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version))
            return reinterpret_cast<FindSymbol>(found);
    }
    std::abort();
}

} // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
    static const FindSymbol real = realFindSymbol();
    void* found = real(handle, name);
    for (std::size_t place = 0; found != nullptr && place < guarded.size(); ++place) {
        if (std::strcmp(name, guarded[place].name) == 0) {
            guarded[place].real = reinterpret_cast<List>(found);
            return reinterpret_cast<void*>(guards[place]);
        }
    }
    return found;
}
