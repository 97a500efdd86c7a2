// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fake_cuda/faults.hpp"

#include "tests/fake_nvml/allocations.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace genv::fake_cuda {

namespace {

using nlohmann::json;

// How often a call that hangs looks whether it may go on.
constexpr std::chrono::milliseconds lookInterval{5};

json readObject(const std::filesystem::path& file) {
    std::ifstream stream(file);
    json object = json::parse(stream, nullptr, false);
    return object.is_object() ? object : json::object();
}

json faultOf(const json& faults, const char* function) {
    return faults.value(function, json());
}

json targetFault(Call call) {
    if (const char* own = std::getenv("FAKE_CUDA_FAULTS")) {
        if (json fault = faultOf(readObject(own), nameOf(call)); !fault.is_null())
            return fault;
    }
    return faultOf(readObject(machineFolder() / "cuda.json").value("target", json::object()),
                   nameOf(call));
}

} // namespace

std::filesystem::path machineFolder() {
    if (const char* named = std::getenv("GENV_FAKE_NVML"))
        return std::filesystem::path(named).parent_path();
    return fake_nvml::folderOfLibrary(reinterpret_cast<const void*>(&machineFolder));
}

TargetFault awaitFault(Call call) {
    json fault = targetFault(call);
    if (fault.is_object())
        std::this_thread::sleep_for(std::chrono::milliseconds{fault.value("delay", 0)});
    while (fault == "hang") {
        std::this_thread::sleep_for(lookInterval);
        fault = targetFault(call);
    }
    TargetFault found;
    if (fault.is_number())
        found.result = fault.get<int>();
    if (fault.is_object()) {
        if (fault.contains("result"))
            found.result = fault["result"].get<int>();
        if (fault.contains("state"))
            found.state = fault["state"].get<int>();
        found.isLost = fault.value("lost", false);
    }
    return found;
}

void noteCall(const char* line) {
    if (const char* file = std::getenv("FAKE_CUDA_CALLS"))
        std::ofstream(file, std::ios::app) << line << '\n';
}

std::optional<int> callerFault(const char* function) {
    const auto current = [&] {
        return faultOf(readObject(machineFolder() / "cuda.json").value("caller", json::object()),
                       function);
    };
    json fault = current();
    if (fault == "crash")
        std::abort();
    while (fault == "hang") {
        std::this_thread::sleep_for(lookInterval);
        fault = current();
    }
    if (fault == "print") {
        std::puts("{\"state\":\"checkpointed\"}");
        std::fflush(stdout);
    }
    return fault.is_number() ? std::optional<int>(fault.get<int>()) : std::nullopt;
}

} // namespace genv::fake_cuda
