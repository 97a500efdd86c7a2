// SPDX-License-Identifier: LGPL-2.1-or-later
// A stand-in for libcuda.so.1, for cuda-holder on machines without a GPU. It reads the GPUs from
// the file machine.json of the fake NVML beside it, shows those that CUDA_VISIBLE_DEVICES names and
// whose nodes can be opened, as CUDA does, and registers its memory with the fake NVML
// (allocations.hpp).
#include "tests/fake_nvml/allocations.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Result = int;
using nlohmann::json;

constexpr Result success = 0;
constexpr Result outOfMemory = 2;
constexpr Result noDevice = 100;
constexpr Result operatingSystem = 304;
constexpr std::uint64_t contextSize = 100 << 20;

std::filesystem::path folder() {
    return genv::fake_nvml::folderOfLibrary(reinterpret_cast<const void*>(&folder));
}

std::filesystem::path allocations() {
    return folder() / "allocations";
}

bool isOpen(const json& device) {
    const int node = ::open(device.value("node", "/dev/null").c_str(), O_RDWR | O_CLOEXEC);
    if (node >= 0)
        ::close(node);
    return node >= 0 || errno != EPERM;
}

bool isNamed(const json& device, std::size_t index) {
    const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (list == nullptr)
        return true;
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) {
        if (name == device["uuid"].get<std::string>() || name == std::to_string(index))
            return true;
    }
    return false;
}

std::vector<json>& visible() {
    static std::vector<json> devices;
    return devices;
}

// Writes and locks the file of an allocation. The descriptor stays open, and the lock with it.
Result keep(const std::string& gpu, std::uint64_t size) {
    std::string name = (allocations() / "XXXXXX").string();
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const std::string text = gpu + ' ' + std::to_string(size) + '\n';
    if (file < 0 || ::fchmod(file, 0644) < 0 || ::fcntl(file, F_SETLK, &lock) < 0 ||
        ::write(file, text.data(), text.size()) < 0)
        return operatingSystem;
    return success;
}

} // namespace

FAKE_CUDA_EXPORT Result cuInit(unsigned) {
    std::ifstream file(folder() / "machine.json");
    const json machine = json::parse(file, nullptr, false);
    if (!machine.is_object())
        return noDevice;
    const json& devices = machine["devices"];
    for (std::size_t index = 0; index < devices.size(); ++index) {
        if (isNamed(devices[index], index) && isOpen(devices[index]))
            visible().push_back(devices[index]);
    }
    return visible().empty() ? noDevice : success;
}

FAKE_CUDA_EXPORT Result cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return success;
}

FAKE_CUDA_EXPORT Result cuCtxCreate_v2(void** context, unsigned, int) {
    *context = &visible();
    return success;
}

FAKE_CUDA_EXPORT Result cuMemAlloc_v2(unsigned long long* address, std::size_t size) {
    const json& memory = visible().front()["memory"];
    const std::string gpu = visible().front()["uuid"];
    std::uint64_t used =
        memory["used"].get<std::uint64_t>() + memory.value("reserved", std::uint64_t{0});
    for (const auto& allocation : genv::fake_nvml::readAllocations(allocations()))
        used += allocation.gpu == gpu ? allocation.bytes : 0;
    if (used + size + contextSize > memory["total"].get<std::uint64_t>())
        return outOfMemory;
    *address = 1;
    return keep(gpu, size + contextSize);
}

FAKE_CUDA_EXPORT Result cuMemsetD8_v2(unsigned long long, unsigned char, std::size_t) {
    return success;
}

FAKE_CUDA_EXPORT Result cuCtxSynchronize() {
    return success;
}
