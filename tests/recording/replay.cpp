// SPDX-License-Identifier: LGPL-2.1-or-later
// A libnvidia-ml.so.1 that answers as the driver of a recorded machine did: GENV_NVML_RECORDING
// names the folder. Without a folder there is no driver. nvmlErrorString() says what is wrong with
// a recording that is refused.
#include "tests/recording/functions.hpp"
#include "tests/recording/recorded_machine.hpp"

#include <cstdio>

#define GENV_EXPORT extern "C" __attribute__((visibility("default")))

using namespace genv::recording;

namespace genv::nvml {

struct OpaqueEventSet {};

} // namespace genv::nvml

namespace {

// The common part of all exports: `action` gets the machine and the name of the function.
template <typename Action>
Return call(const char* function, Action action) {
    const std::lock_guard lock(recordedMachine().mutex);
    try {
        recordedMachine().requireInit();
        return action(recordedMachine(), function);
    } catch (const Refusal& refusal) {
        return refusal.result;
    } catch (const std::exception&) {
        return Return::Unknown; // the recording was checked
    }
}

template <typename Find>
Return handOverDevice(const char* function, Device* out, Find find) {
    return call(function, [&](RecordedMachine& machine, const char* name) {
        *out = find(machine, name);
        return Return::Success;
    });
}

template <typename Kind, typename... Arguments>
Return replay(const char* function, Device device, Arguments... arguments) {
    return call(function, [&](RecordedMachine& machine, const char* name) {
        const json& answer = machine.answer(name, device);
        // A function that was not recorded counts as one that the driver lacks.
        if (!answer.contains("of") && resultOf(answer) == Return::FunctionNotFound)
            return Return::FunctionNotFound;
        return Kind::give(answer, arguments...);
    });
}

// Copies a text of any length.
Return giveText(const json& answer, char* buffer, unsigned size) {
    const Return result = resultOf(answer);
    if (result != Return::Success)
        return result;
    const auto& text = memberOf(answer, "value").get_ref<const std::string&>();
    if (text.size() >= size)
        return Return::InsufficientSize;
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    return result;
}

template <typename T>
Return giveNumber(const char* function, T* out) {
    return call(function, [&](RecordedMachine& machine, const char* name) {
        const json& answer = machine.system(name);
        const Return result = resultOf(answer);
        if (result == Return::Success)
            decode(memberOf(answer, "value"), *out);
        return result;
    });
}

bool hasValue(const json& answers, const char* function, const char* value) {
    const auto found = answers.find(function);
    return found != answers.end() && found->value("value", json()) == value;
}

Device findByUuid(RecordedMachine& machine, const char* function, const char* uuid) {
    return machine.find(function, [&](const json& answers) {
        return hasValue(answers, "nvmlDeviceGetUUID", uuid);
    });
}

Return findByPciBusId(const char* function, const char* busId, Device* out) {
    return handOverDevice(function, out, [&](RecordedMachine& machine, const char* name) {
        unsigned domain = 0;
        unsigned bus = 0;
        unsigned device = 0;
        if (std::sscanf(busId, "%x:%x:%x", &domain, &bus, &device) != 3)
            throw Refusal{Return::InvalidArgument};
        return machine.find(name, [&](const json& answers) {
            nvml::PciInfo pci{};
            const auto found = answers.find("nvmlDeviceGetPciInfo_v3");
            return found != answers.end() && Pci::give(*found, &pci) == Return::Success &&
                   pci.domain == domain && pci.bus == bus && pci.device == device;
        });
    });
}

// Gives a list of GPUs. A count of 0 asks for their number.
Return giveGpus(RecordedMachine& machine, const json& answer, unsigned* count, Device* out) {
    const Return result = resultOf(answer);
    if (result != Return::Success)
        return result;
    const auto indices = decodeList<unsigned>(memberOf(answer, "value"));
    const auto all = static_cast<unsigned>(indices.size());
    const unsigned room = *count;
    *count = room == 0 ? all : std::min(room, all);
    for (unsigned i = 0; room > 0 && i < *count; ++i)
        out[i] = machine.gpu(indices[i]);
    return result;
}

Return init() {
    const std::lock_guard lock(recordedMachine().mutex);
    try {
        return recordedMachine().init();
    } catch (const Refusal& refusal) {
        return refusal.result;
    }
}

} // namespace

#define GENV_X(name, Kind)                                                                         \
    GENV_EXPORT Return name(Device device, GENV_PARAMETERS_##Kind) {                               \
        return replay<Kind>(__func__, device, GENV_ARGUMENTS_##Kind);                              \
    }
GENV_RECORDED(GENV_X)
#undef GENV_X

GENV_EXPORT Return nvmlInit() {
    return init();
}

GENV_EXPORT Return nvmlInit_v2() {
    return init();
}

GENV_EXPORT Return nvmlInitWithFlags(unsigned /*flags*/) {
    return init();
}

GENV_EXPORT Return nvmlShutdown() {
    return call(__func__, [](RecordedMachine& machine, const char*) { return machine.shutdown(); });
}

GENV_EXPORT const char* nvmlErrorString(Return result) {
    const std::lock_guard lock(recordedMachine().mutex);
    static std::string kept;
    kept = recordedMachine().fault();
    if (kept.empty()) {
        const json& words = recordedMachine().system("nvmlErrorString");
        kept = words.value(std::to_string(static_cast<int>(result)), "Unknown Error");
    }
    return kept.c_str();
}

GENV_EXPORT Return nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
    return call(__func__, [buffer, size](RecordedMachine& machine, const char* function) {
        return giveText(machine.system(function), buffer, size);
    });
}

GENV_EXPORT Return nvmlSystemGetNVMLVersion(char* buffer, unsigned size) {
    return call(__func__, [buffer, size](RecordedMachine& machine, const char* function) {
        return giveText(machine.system(function), buffer, size);
    });
}

GENV_EXPORT Return nvmlSystemGetCudaDriverVersion(int* version) {
    return giveNumber(__func__, version);
}

GENV_EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return giveNumber(__func__, version);
}

GENV_EXPORT Return nvmlSystemGetProcessName(unsigned pid, char* buffer, unsigned size) {
    return call(__func__, [pid, buffer, size](RecordedMachine& machine, const char* function) {
        const json& names = machine.system(function);
        const auto found = names.find(std::to_string(pid));
        return found == names.end() ? Return::NotFound : giveText(*found, buffer, size);
    });
}

GENV_EXPORT Return nvmlDeviceGetCount(unsigned* count) {
    return giveNumber(__func__, count);
}

GENV_EXPORT Return nvmlDeviceGetCount_v2(unsigned* count) {
    return giveNumber(__func__, count);
}

GENV_EXPORT Return nvmlDeviceGetHandleByIndex(unsigned index, Device* out) {
    return handOverDevice(__func__, out, [index](RecordedMachine& machine, const char* function) {
        return machine.byIndex(function, index);
    });
}

GENV_EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
    return handOverDevice(__func__, out, [index](RecordedMachine& machine, const char* function) {
        return machine.byIndex(function, index);
    });
}

GENV_EXPORT Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* out) {
    return handOverDevice(__func__, out, [uuid](RecordedMachine& machine, const char* function) {
        return findByUuid(machine, function, uuid);
    });
}

GENV_EXPORT Return nvmlDeviceGetHandleByUUIDV(const nvml::Uuid* uuid, Device* out) {
    if (uuid->version != nvml::uuidVersion)
        return Return::ArgumentVersionMismatch;
    if (uuid->type != nvml::uuidTypeAscii)
        return Return::NotSupported;
    return handOverDevice(__func__, out, [uuid](RecordedMachine& machine, const char* function) {
        return findByUuid(machine, function, uuid->value.text);
    });
}

GENV_EXPORT Return nvmlDeviceGetHandleBySerial(const char* serial, Device* out) {
    return handOverDevice(__func__, out, [serial](RecordedMachine& machine, const char* function) {
        return machine.find(function, [&](const json& answers) {
            return hasValue(answers, "nvmlDeviceGetSerial", serial);
        });
    });
}

GENV_EXPORT Return nvmlDeviceGetHandleByPciBusId(const char* busId, Device* out) {
    return findByPciBusId(__func__, busId, out);
}

GENV_EXPORT Return nvmlDeviceGetHandleByPciBusId_v2(const char* busId, Device* out) {
    return findByPciBusId(__func__, busId, out);
}

GENV_EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device gpu, unsigned index, Device* out) {
    return handOverDevice(__func__, out, [gpu, index](RecordedMachine& machine, const char*) {
        return machine.instance(gpu, index);
    });
}

GENV_EXPORT Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device instance, Device* out) {
    return handOverDevice(
        __func__, out, [instance](RecordedMachine& machine, const char* function) {
            const Return result = resultOf(machine.answer(function, instance));
            if (result != Return::Success || instance->parent == nullptr)
                throw Refusal{result == Return::Success ? Return::InvalidArgument : result};
            return instance->parent;
        });
}

GENV_EXPORT Return nvmlDeviceGetTopologyNearestGpus(Device device, int level, unsigned* count,
                                                    Device* out) {
    return call(__func__, [&](RecordedMachine& machine, const char* function) {
        const json& answer = machine.answer(function, device);
        if (!answer.contains("of"))
            return resultOf(answer);
        return giveGpus(machine, answerFor(answer, static_cast<unsigned>(level)), count, out);
    });
}

GENV_EXPORT Return nvmlSystemGetTopologyGpuSet(unsigned /*cpu*/, unsigned* count, Device* out) {
    return call(__func__, [&](RecordedMachine& machine, const char* function) {
        return giveGpus(machine, machine.system(function), count, out);
    });
}

GENV_EXPORT Return nvmlEventSetCreate(nvml::EventSet* out) {
    return call(__func__, [out](RecordedMachine& machine, const char* function) {
        static nvml::OpaqueEventSet set;
        *out = &set;
        return resultOf(machine.system(function));
    });
}

GENV_EXPORT Return nvmlEventSetFree(nvml::EventSet /*set*/) {
    return Return::Success;
}

GENV_EXPORT Return nvmlDeviceRegisterEvents(Device device, unsigned long long /*types*/,
                                            nvml::EventSet /*set*/) {
    return call(__func__, [device](RecordedMachine& machine, const char* function) {
        return resultOf(machine.answer(function, device));
    });
}

GENV_EXPORT Return nvmlEventSetWait(nvml::EventSet /*set*/, nvml::EventData* /*data*/,
                                    unsigned /*milliseconds*/) {
    return call(__func__, [](RecordedMachine& machine, const char* function) {
        return resultOf(machine.system(function));
    });
}

GENV_EXPORT Return nvmlEventSetWait_v2(nvml::EventSet /*set*/, nvml::EventData* /*data*/,
                                       unsigned /*milliseconds*/) {
    return call(__func__, [](RecordedMachine& machine, const char* function) {
        return resultOf(machine.system(function));
    });
}
