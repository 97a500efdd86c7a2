// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads the machine's NVML at run time, with whichever functions its version has. A missing
// function behaves like one that returns FunctionNotFound, so callers handle a single case.
#pragma once

#include "core/model/nvml_abi.hpp"

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::service {

/// The library cannot be loaded. The text comes from the dynamic linker and is untrusted.
class NvmlNotLoaded : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Returns the address of a symbol, or null.
void* findSymbol(void* library, const char* name);

/// An NVML function in all its versions with the same signature, newest first. Calls the first
/// version that the library and its driver support.
template <typename... Args>
class NvmlFunction {
  public:
    NvmlFunction(void* library, std::initializer_list<const char*> names) {
        for (const char* name : names) {
            if (void* address = findSymbol(library, name))
                versions_.push_back(reinterpret_cast<Version>(address));
        }
    }

    nvml::Return operator()(Args... args) const {
        auto result = nvml::Return::FunctionNotFound;
        for (auto version = versions_.begin();
             version != versions_.end() && result == nvml::Return::FunctionNotFound; ++version)
            result = (*version)(args...);
        return result;
    }

  private:
    using Version = nvml::Return (*)(Args...);
    std::vector<Version> versions_;
};

/// Lists processes. The versions use different entry types, hence the untyped pointer.
using NvmlProcessFunction = NvmlFunction<nvml::Device, unsigned*, void*>;

/// The loaded library. Loading does not start NVML; init() does.
class NvmlLibrary {
    struct Close {
        void operator()(void* handle) const noexcept;
    };
    std::unique_ptr<void, Close> handle_; // first: the functions below are looked up in it

  public:
    /// Loads the library with this name or path. Throws NvmlNotLoaded.
    explicit NvmlLibrary(const std::string& file);

    /// Returns the library's description of a return value, which is untrusted text.
    [[nodiscard]] std::string describe(nvml::Return result) const;

    /// Returns the function with this symbol.
    template <typename... Args>
    [[nodiscard]] NvmlFunction<Args...> function(const char* symbol) const {
        return {handle_.get(), {symbol}};
    }

    const NvmlFunction<> init{handle_.get(), {"nvmlInit_v2", "nvmlInit"}};
    const NvmlFunction<> shutdown{handle_.get(), {"nvmlShutdown"}};

    const NvmlFunction<char*, unsigned> driverVersion{handle_.get(),
                                                      {"nvmlSystemGetDriverVersion"}};
    const NvmlFunction<unsigned*> deviceCount{handle_.get(),
                                              {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}};
    const NvmlFunction<unsigned, nvml::Device*> deviceByIndex{
        handle_.get(), {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}};
    const NvmlFunction<nvml::Device, char*, unsigned> uuid{handle_.get(), {"nvmlDeviceGetUUID"}};
    const NvmlFunction<nvml::Device, char*, unsigned> name{handle_.get(), {"nvmlDeviceGetName"}};
    const NvmlFunction<nvml::Device, nvml::MemoryV2*> memoryV2{handle_.get(),
                                                               {"nvmlDeviceGetMemoryInfo_v2"}};
    const NvmlFunction<nvml::Device, nvml::MemoryV1*> memoryV1{handle_.get(),
                                                               {"nvmlDeviceGetMemoryInfo"}};
    const NvmlFunction<nvml::Device, nvml::Utilization*> utilization{
        handle_.get(), {"nvmlDeviceGetUtilizationRates"}};
    const NvmlFunction<nvml::Device, unsigned, unsigned*> temperature{handle_.get(),
                                                                      {"nvmlDeviceGetTemperature"}};
    const NvmlFunction<nvml::Device, nvml::PciInfo*> pciInfo{handle_.get(),
                                                             {"nvmlDeviceGetPciInfo_v3"}};

    const NvmlFunction<nvml::Device, unsigned*, unsigned*> migMode{handle_.get(),
                                                                   {"nvmlDeviceGetMigMode"}};
    const NvmlFunction<nvml::Device, unsigned*> migCount{handle_.get(),
                                                         {"nvmlDeviceGetMaxMigDeviceCount"}};
    const NvmlFunction<nvml::Device, unsigned, nvml::Device*> migByIndex{
        handle_.get(), {"nvmlDeviceGetMigDeviceHandleByIndex"}};

    const NvmlProcessFunction computeProcesses{
        handle_.get(),
        {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}};
    const NvmlProcessFunction computeProcessesV1{handle_.get(),
                                                 {"nvmlDeviceGetComputeRunningProcesses"}};
    const NvmlProcessFunction mpsProcesses{handle_.get(),
                                           {"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                                            "nvmlDeviceGetMPSComputeRunningProcesses_v2"}};
    const NvmlProcessFunction mpsProcessesV1{handle_.get(),
                                             {"nvmlDeviceGetMPSComputeRunningProcesses"}};

    const NvmlProcessFunction graphicsProcesses{
        handle_.get(),
        {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}};
    const NvmlProcessFunction graphicsProcessesV1{handle_.get(),
                                                  {"nvmlDeviceGetGraphicsRunningProcesses"}};

    const NvmlFunction<nvml::Device, nvml::ProcessUtilizationSample*, unsigned*, unsigned long long>
        processUtilization{handle_.get(), {"nvmlDeviceGetProcessUtilization"}};

    const NvmlFunction<nvml::EventSet*> createEventSet{handle_.get(), {"nvmlEventSetCreate"}};
    const NvmlFunction<nvml::EventSet> freeEventSet{handle_.get(), {"nvmlEventSetFree"}};
    const NvmlFunction<nvml::Device, unsigned long long, nvml::EventSet> registerEvents{
        handle_.get(), {"nvmlDeviceRegisterEvents"}};
    const NvmlFunction<nvml::EventSet, nvml::EventData*, unsigned> waitForEvent{
        handle_.get(), {"nvmlEventSetWait_v2", "nvmlEventSetWait"}};
};

} // namespace genv::service
