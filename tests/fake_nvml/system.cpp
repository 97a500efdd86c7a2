// SPDX-License-Identifier: LGPL-2.1-or-later
// NVML's functions about the driver itself.
#include "tests/fake_nvml/machine.hpp"

using namespace genv::fake_nvml;

namespace {

Return init(const char* function) {
    const std::lock_guard lock(machine().mutex);
    try {
        machine().enter(function);
        machine().init();
        return Return::Success;
    } catch (const Refusal& refusal) {
        return refusal.result;
    }
}

Return copyMember(const char* function, const char* name, char* buffer, unsigned size) {
    return call(function, [&](Machine& m) {
        const json& value = member(m.file(), name);
        copyText(value.is_null() ? "0" : textOf(value), buffer, size);
    });
}

Return cudaVersion(const char* function, int* version) {
    return call(function, [&](Machine& m) { *version = m.file().value("cuda", 12000); });
}

const char* describe(Return result) {
    switch (result) {
    case Return::Success:
        return "Success";
    case Return::Uninitialized:
        return "Uninitialized";
    case Return::NotSupported:
        return "Not Supported";
    case Return::NoPermission:
        return "Insufficient Permissions";
    case Return::DriverNotLoaded:
        return "Driver Not Loaded";
    case Return::FunctionNotFound:
        return "Function Not Found";
    case Return::GpuIsLost:
        return "GPU is lost";
    case Return::LibRmVersionMismatch:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

} // namespace

FAKE_NVML_EXPORT Return nvmlInit() {
    return init(__func__);
}

FAKE_NVML_EXPORT Return nvmlInitWithFlags(unsigned /*flags*/) {
    return init(__func__);
}

FAKE_NVML_EXPORT Return nvmlShutdown() {
    return call(__func__, [](Machine& m) { m.shutdown(); });
}

FAKE_NVML_EXPORT const char* nvmlErrorString(Return result) {
    const std::lock_guard lock(machine().mutex);
    const json& text = member(machine().file(), "error_string");
    static std::string kept;
    kept = text.is_null() ? describe(result) : textOf(text);
    return kept.c_str();
}

FAKE_NVML_EXPORT Return nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
    return copyMember(__func__, "driver", buffer, size);
}

FAKE_NVML_EXPORT Return nvmlSystemGetNVMLVersion(char* buffer, unsigned size) {
    return copyMember(__func__, "nvml", buffer, size);
}

FAKE_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion(int* version) {
    return cudaVersion(__func__, version);
}

#ifndef FAKE_NVML_OLD
FAKE_NVML_EXPORT Return nvmlInit_v2() {
    return init(__func__);
}

FAKE_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return cudaVersion(__func__, version);
}
#endif
