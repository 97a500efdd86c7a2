// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/recording/nvml_recording.hpp"

#include "tests/recording/functions.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

namespace genv::recording {

namespace {

constexpr unsigned maxDevices = 64;
constexpr unsigned maxInstances = 64;

// The function that the child calls, for the parent to name if the call does not end.
struct Progress {
    char function[64];
};

// A UUID, serial number and address that no device has.
constexpr const char* unknownUuid = "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr const char* unknownSerial = "0";
constexpr const char* unknownAddress = "ffffffff:ff:1f.0";

nvml::Uuid uuidOf(const std::string& text) {
    nvml::Uuid uuid{};
    uuid.version = nvml::uuidVersion;
    uuid.type = nvml::uuidTypeAscii;
    text.copy(uuid.value.text, sizeof(uuid.value.text) - 1);
    return uuid;
}

// Asks one library. Devices are in the order of their indices.
class Asker {
  public:
    Asker(void* library, Progress* progress) : library_(library), progress_(progress) {}

    json ask() {
        json system = json::object();
        Return started = call<>("nvmlInit_v2");
        system["nvmlInit_v2"] = answerOf(started);
        if (started == Return::FunctionNotFound) {
            started = call<>("nvmlInit");
            system["nvmlInit"] = answerOf(started);
        }
        if (started == Return::Success) {
            askSystem(system);
            askDevices(system);
            askProcesses(system);
            askTopology(system);
            if (events_ != nullptr)
                call<nvml::EventSet>("nvmlEventSetFree", events_);
        }
        json functions = json::array();
#define GENV_X(name, kind) functions.push_back(#name);
        GENV_RECORDED(GENV_X)
#undef GENV_X
        return {{"format", 1},
                {"functions", std::move(functions)},
                {"system", std::move(system)},
                {"devices", std::move(devices_)}};
    }

  private:
    template <typename Type>
    Type* function(const char* name) {
        std::strncpy(progress_->function, name, sizeof(progress_->function) - 1);
        return reinterpret_cast<Type*>(::dlsym(library_, name));
    }

    // A function that the library lacks counts as one that the driver lacks.
    template <typename... Parameters>
    Return call(const char* name, Parameters... parameters) {
        auto* address = function<Return(Parameters...)>(name);
        return address == nullptr ? Return::FunctionNotFound : address(parameters...);
    }

    json text(const char* name) {
        char buffer[nvml::driverVersionBufferSize] = {};
        const Return result = call<char*, unsigned>(name, buffer, sizeof(buffer));
        return answerOf(result, encode(buffer));
    }

    template <typename T>
    json number(const char* name) {
        T value{};
        const Return result = call<T*>(name, &value);
        return answerOf(result, encode(value));
    }

    void askSystem(json& system) {
        for (const char* name : {"nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion"})
            system[name] = text(name);
        for (const char* name :
             {"nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"})
            system[name] = number<int>(name);
        for (const char* name : {"nvmlDeviceGetCount", "nvmlDeviceGetCount_v2"})
            system[name] = number<unsigned>(name);
        system["nvmlEventSetCreate"] =
            answerOf(call<nvml::EventSet*>("nvmlEventSetCreate", &events_));
        json words = json::object();
        auto* describe = function<const char*(Return)>("nvmlErrorString");
        for (int code = 0; describe != nullptr && code <= maxCode; ++code)
            words[std::to_string(code)] = describe(static_cast<Return>(code));
        if (describe != nullptr)
            words["999"] = describe(Return::Unknown);
        system["nvmlErrorString"] = std::move(words);
        Device none = nullptr;
        for (const char* name :
             {"nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleBySerial",
              "nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByPciBusId_v2"})
            system["unknown"][name] =
                answerOf(call<const char*, Device*>(name, unknownOf(name), &none));
        const nvml::Uuid uuid = uuidOf(unknownUuid);
        system["unknown"]["nvmlDeviceGetHandleByUUIDV"] =
            answerOf(call<const nvml::Uuid*, Device*>("nvmlDeviceGetHandleByUUIDV", &uuid, &none));
    }

    static const char* unknownOf(const std::string& name) {
        return name.find("UUID") != std::string::npos     ? unknownUuid
               : name.find("Serial") != std::string::npos ? unknownSerial
                                                          : unknownAddress;
    }

    void askDevices(json& system) {
        const json& counted = system["nvmlDeviceGetCount_v2"].contains("value")
                                  ? system["nvmlDeviceGetCount_v2"]
                                  : system["nvmlDeviceGetCount"];
        const unsigned count = std::min(counted.value("value", 0U), maxDevices);
        for (unsigned index = 0; index < count; ++index)
            devices_.push_back(askDevice(index));
        // The index after the last.
        Device none = nullptr;
        for (const char* name : {"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetHandleByIndex_v2"})
            system["unknown"][name] = answerOf(call<unsigned, Device*>(name, count, &none));
        // Now the handles are known.
        for (unsigned index = 0; index < count; ++index) {
            if (handles_[index] != nullptr)
                devices_[index]["answers"]["nvmlDeviceGetTopologyNearestGpus"] =
                    askNearest(handles_[index]);
        }
    }

    json askDevice(unsigned index) {
        json device = json::object();
        Device handle = nullptr;
        for (const char* name : {"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetHandleByIndex_v2"}) {
            Device one = nullptr;
            device["handle"][name] = answerOf(call<unsigned, Device*>(name, index, &one));
            if (device["handle"][name]["result"] == 0)
                handle = one;
        }
        handles_.push_back(handle);
        if (handle == nullptr)
            return device;
        json& answers = device["answers"] = askAll(handle);
        askLookups(handle, answers);
        answers["nvmlDeviceRegisterEvents"] =
            answerOf(call<Device, unsigned long long, nvml::EventSet>(
                "nvmlDeviceRegisterEvents", handle, nvml::eventXidCriticalError, events_));
        device["instances"] = askInstances(handle, answers);
        return device;
    }

    // The answers of the functions in the table.
    json askAll(Device handle) {
        json answers = json::object();
#define GENV_X(name, Kind)                                                                         \
    {                                                                                              \
        auto* address = function<Kind::Type>(#name);                                               \
        answers[#name] = address == nullptr ? answerOf(Return::FunctionNotFound)                   \
                                            : Kind::ask(address, handle, answers);                 \
    }
        GENV_RECORDED(GENV_X)
#undef GENV_X
        for (const auto& [name, answer] : answers.items())
            collectPids(answer);
        return answers;
    }

    void collectPids(const json& answer) {
        if (answer.is_object() && answer.contains("pid") && answer["pid"].is_number_unsigned())
            pids_.insert(answer["pid"].get<unsigned>());
        for (const json& part : answer) {
            if (part.is_structured())
                collectPids(part);
        }
    }

    // Whether the device is found by each of its names.
    void askLookups(Device handle, json& answers) {
        const auto lookUp = [&](const char* name, const std::string& key) {
            Device found = nullptr;
            Return result = call<const char*, Device*>(name, key.c_str(), &found);
            answers[name] = answerOf(result, found == handle);
        };
        const std::string uuid = answers["nvmlDeviceGetUUID"].value("value", "");
        if (!uuid.empty()) {
            lookUp("nvmlDeviceGetHandleByUUID", uuid);
            const nvml::Uuid key = uuidOf(uuid);
            Device found = nullptr;
            const Return result =
                call<const nvml::Uuid*, Device*>("nvmlDeviceGetHandleByUUIDV", &key, &found);
            answers["nvmlDeviceGetHandleByUUIDV"] = answerOf(result, found == handle);
        }
        const std::string serial = answers["nvmlDeviceGetSerial"].value("value", "");
        if (!serial.empty())
            lookUp("nvmlDeviceGetHandleBySerial", serial);
        const json& pci = answers["nvmlDeviceGetPciInfo_v3"];
        if (pci.contains("value")) {
            for (const char* name :
                 {"nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByPciBusId_v2"})
                lookUp(name, pci["value"]["bus_id"].get<std::string>());
        }
    }

    json askInstances(Device gpu, const json& answers) {
        const json& max = answers["nvmlDeviceGetMaxMigDeviceCount"];
        // At least one index, so that a GPU without instances has an answer, too.
        const unsigned count = std::clamp(max.value("value", 0U), 1U, maxInstances);
        json instances = json::array();
        for (unsigned index = 0; index < count; ++index) {
            Device handle = nullptr;
            json instance = answerOf(call<Device, unsigned, Device*>(
                "nvmlDeviceGetMigDeviceHandleByIndex", gpu, index, &handle));
            if (instance["result"] == 0) {
                json& own = instance["answers"] = askAll(handle);
                askLookups(handle, own);
                Device parent = nullptr;
                const Return result = call<Device, Device*>(
                    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle, &parent);
                own["nvmlDeviceGetDeviceHandleFromMigDeviceHandle"] =
                    answerOf(result, parent == gpu);
            }
            instances.push_back(std::move(instance));
        }
        return instances;
    }

    void askProcesses(json& system) {
        json& names = system["nvmlSystemGetProcessName"] = json::object();
        for (const unsigned pid : pids_) {
            char name[maxName] = {};
            const Return result = call<unsigned, char*, unsigned>("nvmlSystemGetProcessName", pid,
                                                                  name, sizeof(name));
            names[std::to_string(pid)] = answerOf(result, encode(name));
        }
        nvml::EventData event{};
        if (events_ == nullptr)
            return;
        for (const char* name : {"nvmlEventSetWait", "nvmlEventSetWait_v2"}) {
            const Return result =
                call<nvml::EventSet, nvml::EventData*, unsigned>(name, events_, &event, 0U);
            // An event of this moment is not for those who come later.
            system[name] = answerOf(result == Return::Success ? Return::Timeout : result);
        }
    }

    // A device without a handle of its own is left out.
    [[nodiscard]] json indicesOf(const std::vector<Device>& devices, unsigned count) const {
        json indices = json::array();
        for (unsigned i = 0; i < std::min<std::size_t>(count, devices.size()); ++i) {
            const auto found = std::find(handles_.begin(), handles_.end(), devices[i]);
            if (found != handles_.end())
                indices.push_back(found - handles_.begin());
        }
        return indices;
    }

    json askNearest(Device handle) {
        json all = json::object();
        for (const int level : {0, 10, 20, 30, 40, 50}) {
            std::vector<Device> devices(maxDevices);
            unsigned count = 0;
            Return result = call<Device, int, unsigned*, Device*>(
                "nvmlDeviceGetTopologyNearestGpus", handle, level, &count, nullptr);
            count = std::min(count, maxDevices);
            if (result == Return::Success && count > 0)
                result = call<Device, int, unsigned*, Device*>(
                    "nvmlDeviceGetTopologyNearestGpus", handle, level, &count, devices.data());
            all[std::to_string(level)] = answerOf(result, indicesOf(devices, count));
        }
        return {{"of", std::move(all)}};
    }

    void askTopology(json& system) {
        std::vector<Device> devices(maxDevices);
        unsigned count = 0;
        constexpr const char* name = "nvmlSystemGetTopologyGpuSet";
        Return result = call<unsigned, unsigned*, Device*>(name, 0U, &count, nullptr);
        count = std::min(count, maxDevices);
        if (result == Return::Success && count > 0)
            result = call<unsigned, unsigned*, Device*>(name, 0U, &count, devices.data());
        system[name] = answerOf(result, indicesOf(devices, count));
    }

    static constexpr int maxCode = 30;
    static constexpr std::size_t maxName = 4096;

    void* library_;
    Progress* progress_;
    nvml::EventSet events_ = nullptr;
    json devices_ = json::array();
    std::vector<Device> handles_;
    std::set<unsigned> pids_;
};

// The child: loads a library, asks it, and writes the JSON. Its own outputs are the library's.
[[noreturn]] void runChild(const std::vector<std::string>& libraries, int out, Progress* progress) {
    json reply = json::object();
    std::string errors;
    for (const std::string& name : libraries) {
        void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* reason = ::dlerror();
            if (errors.empty() && reason != nullptr)
                errors = reason;
            continue;
        }
        reply["answers"] = Asker(library, progress).ask();
        reply["folder"] = std::filesystem::path(name).parent_path().string();
        break;
    }
    if (!reply.contains("answers"))
        reply["error"] = errors;
    // NVML's texts may be anything; a recording is UTF-8.
    const std::string text = reply.dump(-1, ' ', false, json::error_handler_t::replace);
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(out, text.data() + at, text.size() - at);
        if (written < 0 && errno != EINTR)
            ::_exit(1);
        at += written > 0 ? static_cast<std::size_t>(written) : 0;
    }
    ::_exit(0); // without the library's destructors
}

// Reads until the end of the child's output. Returns whether it came in time.
bool readAll(int in, std::chrono::steady_clock::time_point deadline, std::string& text) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd waiting{in, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) == 0)
            return false;
        char chunk[65536];
        const ssize_t got = ::read(in, chunk, sizeof(chunk));
        if (got == 0)
            return true;
        if (got > 0)
            text.append(chunk, static_cast<std::size_t>(got));
        else if (errno != EINTR)
            return true;
    }
}

} // namespace

NvmlRecording recordNvml(const std::vector<std::string>& libraries, std::chrono::seconds timeout) {
    void* shared = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    if (shared == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) < 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    auto* progress = static_cast<Progress*>(shared);
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0)
        runChild(libraries, ends[1], progress);
    ::close(ends[1]);
    std::string text;
    const bool isInTime = readAll(ends[0], std::chrono::steady_clock::now() + timeout, text);
    ::close(ends[0]);
    NvmlRecording recording;
    if (isInTime) {
        ::waitpid(child, nullptr, 0);
        const json reply = json::parse(text, nullptr, false);
        if (reply.is_object()) {
            recording.answers = reply.value("answers", json());
            recording.folder = reply.value("folder", "");
            recording.error = reply.value("error", "");
        } else {
            recording.error = std::string("NVML crashed in ") + progress->function;
        }
    } else {
        // A child that hangs in the driver does not die of SIGKILL: it is left behind.
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, WNOHANG);
        recording.error = "NVML did not answer within " + std::to_string(timeout.count()) +
                          " s, in " + progress->function;
    }
    ::munmap(shared, sizeof(Progress));
    return recording;
}

} // namespace genv::recording
