// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/recorded_machine.hpp"

#include "tests/recording/functions.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace genv::recording {

namespace {

constexpr off_t maxFile = off_t{64} << 20U;
constexpr std::size_t maxDevices = 1024;

const json& missing() {
    static const json answer = answerOf(Return::FunctionNotFound);
    return answer;
}

const json& listOf(const json& object, const char* name) {
    const json& list = memberOf(object, name);
    if (!list.is_array() || list.size() > maxDevices)
        throw Invalid(std::string("expected a list \"") + name + '"');
    return list;
}

json readRecording() {
    const char* folder = std::getenv("GENV_NVML_RECORDING");
    if (folder == nullptr)
        throw Refusal{Return::DriverNotLoaded};
    const std::string path = std::string(folder) + "/nvml.json";
    struct stat status {};
    if (::stat(path.c_str(), &status) < 0)
        throw Invalid("nvml.json does not exist");
    if (!S_ISREG(status.st_mode) || status.st_size > maxFile)
        throw Invalid("nvml.json: expected a regular file of at most 64 MiB");
    std::ifstream file(path);
    json recording = json::parse(file, nullptr, false);
    if (!recording.is_object())
        throw Invalid("nvml.json: expected a JSON object");
    if (memberOf(recording, "format") != 1)
        throw Invalid("nvml.json: expected \"format\": 1");
    return recording;
}

// Runs a check, and names the place in its errors.
template <typename Check>
void checkAt(const std::string& place, Check check) {
    try {
        check();
    } catch (const Invalid& error) {
        throw Invalid(place + ": " + error.what());
    }
}

// Checks that a device has a well-formed answer of each function that the recorder called.
void checkAnswers(const std::string& place, const json& recording, const json& answers) {
    for (const json& function : listOf(recording, "functions")) {
        if (!function.is_string() || !answers.is_object() ||
            !answers.contains(function.get<std::string>()))
            throw Invalid(place + ": no answer of " + function.dump());
    }
#define GENV_X(name, Kind)                                                                         \
    if (answers.contains(#name))                                                                   \
        checkAt(place + ": " #name, [&] { Kind::check(answers[#name]); });
    GENV_RECORDED(GENV_X)
#undef GENV_X
}

void checkSystem(const json& recording) {
    const json& system = memberOf(recording, "system");
    const json& devices = listOf(recording, "devices");
    for (const char* name : {"nvmlDeviceGetCount", "nvmlDeviceGetCount_v2"}) {
        checkAt(name, [&] {
            unsigned count = 0;
            if (system.contains(name) && Number::give(system[name], &count) == Return::Success &&
                count != devices.size())
                throw Invalid("expected the number of \"devices\"");
        });
    }
    for (const auto& [name, answer] : system.items()) {
        const bool isAnswer =
            name != "unknown" && name != "nvmlErrorString" && name != "nvmlSystemGetProcessName";
        checkAt(name, [&answer = answer, isAnswer] {
            if (isAnswer)
                resultOf(answer);
            else if (!answer.is_object())
                throw Invalid("expected an object");
        });
    }
}

} // namespace

RecordedMachine& recordedMachine() {
    static RecordedMachine machine;
    return machine;
}

Return RecordedMachine::init() {
    if (users_ == 0) {
        fault_.clear();
        try {
            load();
        } catch (const Invalid& error) {
            fault_ = std::string("invalid recording: ") + error.what();
            return Return::Unknown;
        } catch (const json::exception& error) {
            fault_ = std::string("invalid recording: ") + error.what();
            return Return::Unknown;
        }
    }
    const Return newer = resultOf(system("nvmlInit_v2"));
    const Return result = newer == Return::FunctionNotFound ? resultOf(system("nvmlInit")) : newer;
    if (result == Return::Success)
        ++users_;
    return result;
}

Return RecordedMachine::shutdown() {
    requireInit();
    if (--users_ == 0)
        devices_.clear();
    return Return::Success;
}

void RecordedMachine::requireInit() const {
    if (users_ == 0)
        throw Refusal{Return::Uninitialized};
}

void RecordedMachine::load() {
    recording_ = readRecording();
    devices_.clear();
    checkSystem(recording_);
    addDevices();
}

void RecordedMachine::addDevices() {
    unsigned index = 0;
    for (const json& device : listOf(recording_, "devices")) {
        const std::string place = "GPU " + std::to_string(index);
        for (const auto& [name, answer] : memberOf(device, "handle").items())
            checkAt(place, [&answer = answer] { resultOf(answer); });
        if (device.contains("answers")) {
            checkAnswers(place, recording_, device["answers"]);
            devices_.push_back({&device["answers"], index, nullptr});
            checkAt(place, [&] { addInstances(listOf(device, "instances"), devices_.back()); });
        }
        ++index;
    }
}

void RecordedMachine::addInstances(const json& instances, nvml::OpaqueDevice& gpu) {
    for (const json& instance : instances) {
        if (resultOf(instance) != Return::Success)
            continue;
        checkAnswers("MIG instance", recording_, memberOf(instance, "answers"));
        devices_.push_back({&instance["answers"], gpu.index, &gpu});
    }
}

const json& RecordedMachine::system(const char* function) const {
    const json& all = recording_["system"];
    const auto found = all.find(function);
    return found == all.end() ? missing() : *found;
}

Return RecordedMachine::unknown(const char* function) const {
    const json& all = recording_["system"];
    if (!all.contains("unknown") || !all["unknown"].contains(function))
        return Return::FunctionNotFound;
    return resultOf(all["unknown"][function]);
}

Device RecordedMachine::gpu(unsigned index) {
    for (nvml::OpaqueDevice& device : devices_) {
        if (device.index == index && device.parent == nullptr)
            return &device;
    }
    throw Refusal{Return::NotFound};
}

Device RecordedMachine::byIndex(const char* function, unsigned index) {
    const json& devices = recording_["devices"];
    if (index >= devices.size())
        throw Refusal{unknown(function)};
    const json& handle = devices[index]["handle"];
    const Return result = handle.contains(function) ? resultOf(handle[function]) : Return::NotFound;
    if (result != Return::Success)
        throw Refusal{result};
    return gpu(index);
}

Device RecordedMachine::instance(Device gpu, unsigned index) {
    static_cast<void>(answer("nvmlDeviceGetUUID", gpu)); // refuses an invalid handle
    const json& instances = recording_["devices"][gpu->index]["instances"];
    if (gpu->parent != nullptr || index >= instances.size())
        throw Refusal{Return::InvalidArgument};
    const json& recorded = instances[index];
    if (const Return result = resultOf(recorded); result != Return::Success)
        throw Refusal{result};
    for (nvml::OpaqueDevice& device : devices_) {
        if (device.answers == &recorded["answers"])
            return &device;
    }
    throw Refusal{Return::NotFound};
}

const json& RecordedMachine::answer(const char* function, Device device) const {
    for (const nvml::OpaqueDevice& known : devices_) {
        if (&known != device)
            continue;
        const auto found = known.answers->find(function);
        return found == known.answers->end() ? missing() : *found;
    }
    throw Refusal{Return::InvalidArgument};
}

Device RecordedMachine::lookedUp(const char* function, Device device) const {
    const json& recorded = answer(function, device);
    const Return result = resultOf(recorded);
    if (result != Return::Success)
        throw Refusal{result};
    if (recorded.value("value", json()) != true)
        throw Refusal{unknown(function)};
    return device;
}

} // namespace genv::recording
