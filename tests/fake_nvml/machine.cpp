// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fake_nvml/machine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace genv::fake_nvml {

Machine& machine() {
    static Machine instance;
    return instance;
}

const json& member(const json& object, const char* name) {
    static const json null;
    const auto found = object.find(name);
    return found != object.end() ? *found : null;
}

std::string textOf(const json& value) {
    if (value.is_string())
        return value.get<std::string>();
    std::string text;
    for (const json& byte : value)
        text += static_cast<char>(byte.get<unsigned char>());
    return text;
}

void copyText(const std::string& text, char* buffer, unsigned size) {
    if (text.size() >= size)
        throw Refusal{Return::InsufficientSize};
    std::memcpy(buffer, text.c_str(), text.size() + 1);
}

void Machine::enter(const char* function) {
    function_ = function;
    reload();
    if (const json& text = member(file_, "print"); !text.is_null()) {
        std::fputs(textOf(text).c_str(), stdout);
        std::fflush(stdout);
    }
    applyFaults(file_);
}

void Machine::reload() {
    const char* named = std::getenv("GENV_FAKE_NVML");
    const std::filesystem::path path =
        named != nullptr
            ? std::filesystem::path(named)
            : folderOfLibrary(reinterpret_cast<const void*>(&machine)) / "machine.json";
    struct stat status {};
    if (::stat(path.c_str(), &status) < 0)
        throw Refusal{Return::DriverNotLoaded};
    allocations_ = readAllocations(path.parent_path() / "allocations");
    const std::string version = fmt::format("{} {} {}.{}", status.st_ino, status.st_size,
                                            status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    if (version == version_)
        return;
    std::ifstream file(path);
    file_ = json::parse(file);
    version_ = version;
}

void Machine::applyFaults(const json& owner) const {
    const json& faults = member(owner, "faults");
    const json& fault = faults.contains(function_) ? faults[function_] : member(faults, "*");
    if (fault == "crash")
        std::abort();
    while (fault == "hang")
        ::pause();
    if (fault.is_number())
        throw Refusal{static_cast<Return>(fault.get<int>())};
}

void Machine::init() {
    if (users_++ > 0)
        return;
    ++generation_;
    gpus_.clear();
    opened_.clear();
    const bool hidesRefused = member(file_, "hides_refused") == true;
    for (const json& gpu : member(file_, "devices")) {
        if (!hidesRefused || mayOpen(textOf(gpu["uuid"])))
            gpus_.push_back(textOf(gpu["uuid"]));
    }
}

void Machine::shutdown() {
    requireInit();
    --users_;
}

void Machine::requireInit() const {
    if (users_ == 0)
        throw Refusal{Return::Uninitialized};
}

std::uint64_t Machine::lastXid() const {
    std::uint64_t last = 0;
    for (const json& event : member(file_, "xids"))
        last = std::max(last, event["id"].get<std::uint64_t>());
    return last;
}

const json* Machine::findGpu(const std::string& uuid) const {
    for (const json& gpu : member(file_, "devices")) {
        if (textOf(gpu["uuid"]) == uuid)
            return &gpu;
    }
    return nullptr;
}

const json* Machine::findInstance(const std::string& gpu, const std::string& uuid) const {
    const json* owner = findGpu(gpu);
    if (owner == nullptr)
        return nullptr;
    for (const json& instance : member(*owner, "mig")) {
        if (!instance.is_null() && textOf(instance["uuid"]) == uuid)
            return &instance;
    }
    return nullptr;
}

bool Machine::mayOpen(const std::string& gpu) {
    const json* values = findGpu(gpu);
    if (values == nullptr || !values->contains("node") || opened_.contains(gpu))
        return true;
    const int node = ::open(textOf((*values)["node"]).c_str(), O_RDWR | O_CLOEXEC);
    if (node < 0 && (errno == EPERM || errno == EACCES))
        return false;
    if (node >= 0)
        ::close(node);
    opened_.insert(gpu);
    return true;
}

void Machine::requireOpen(const std::string& gpu) {
    if (!mayOpen(gpu))
        throw Refusal{Return::NoPermission};
}

nvml::Device Machine::handleOf(const std::string& gpu, const std::string& instance) {
    for (nvml::OpaqueDevice& handle : handles_) {
        if (handle.generation == generation_ && handle.gpu == gpu && handle.instance == instance)
            return &handle;
    }
    handles_.push_back({generation_, gpu, instance});
    return &handles_.back();
}

FoundDevice Machine::find(nvml::Device handle) const {
    const bool isKnown =
        std::any_of(handles_.begin(), handles_.end(), [&](const nvml::OpaqueDevice& candidate) {
            return &candidate == handle && candidate.generation == generation_;
        });
    if (!isKnown)
        throw Refusal{Return::InvalidArgument};
    const json* gpu = findGpu(handle->gpu);
    if (gpu == nullptr || member(*gpu, "lost") == true)
        throw Refusal{Return::GpuIsLost};
    if (handle->instance.empty()) {
        applyFaults(*gpu);
        return {*gpu, *gpu};
    }
    const json* instance = findInstance(handle->gpu, handle->instance);
    if (instance == nullptr)
        throw Refusal{Return::NotFound};
    applyFaults(*instance);
    return {*instance, *gpu};
}

unsigned Machine::indexOf(nvml::Device handle) const {
    if (handle->instance.empty())
        return static_cast<unsigned>(std::find(gpus_.begin(), gpus_.end(), handle->gpu) -
                                     gpus_.begin());
    unsigned index = 0;
    for (const json& instance : member(*findGpu(handle->gpu), "mig")) {
        if (!instance.is_null() && textOf(instance["uuid"]) == handle->instance)
            break;
        ++index;
    }
    return index;
}

} // namespace genv::fake_nvml
