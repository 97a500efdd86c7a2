// SPDX-License-Identifier: LGPL-2.1-or-later
// A recording, read from the folder in GENV_NVML_RECORDING and checked as a whole: a recording that
// is incomplete or not what the recorder writes is refused with the place of the fault.
#pragma once

#include "tests/recording/answers.hpp"

#include <deque>
#include <mutex>
#include <string>

namespace genv::nvml {

/// The target of a handle. It is valid until nvmlShutdown().
struct OpaqueDevice {
    const nlohmann::json* answers;
    unsigned index;       ///< of the GPU
    OpaqueDevice* parent; ///< the GPU of a MIG instance, or null
};

} // namespace genv::nvml

namespace genv::recording {

/// An answer that is an error. Functions throw it; the exports return it.
struct Refusal {
    Return result;
};

class RecordedMachine {
  public:
    /// Reads the recording unless it is in use, and returns how NVML started on that machine.
    Return init();
    Return shutdown();
    /// Throws Uninitialized before init().
    void requireInit() const;

    /// Returns the answer of a function that concerns no device. If it was not recorded, the answer
    /// is FunctionNotFound.
    [[nodiscard]] const json& system(const char* function) const;
    /// Returns the result of a function for a device that does not exist.
    [[nodiscard]] Return unknown(const char* function) const;

    /// Throws the recorded result if the machine gave no handle.
    Device byIndex(const char* function, unsigned index);
    Device instance(Device gpu, unsigned index);
    /// Returns the first device for which `matches` returns true, or what the function returned
    /// for it.
    template <typename Matches>
    Device find(const char* function, Matches matches) {
        for (nvml::OpaqueDevice& device : devices_) {
            if (matches(*device.answers))
                return lookedUp(function, &device);
        }
        throw Refusal{unknown(function)};
    }
    /// Returns the answer of a function for a device. Throws InvalidArgument for an invalid handle.
    [[nodiscard]] const json& answer(const char* function, Device device) const;
    [[nodiscard]] Device gpu(unsigned index);

    /// Why the recording cannot be used, or empty.
    [[nodiscard]] const std::string& fault() const { return fault_; }

    std::mutex mutex;

  private:
    void load();
    void addDevices();
    void addInstances(const json& instances, nvml::OpaqueDevice& gpu);
    Device lookedUp(const char* function, Device device) const;

    json recording_;
    std::deque<nvml::OpaqueDevice> devices_; // each GPU is before its instances
    unsigned users_ = 0;
    std::string fault_;
};

RecordedMachine& recordedMachine();

} // namespace genv::recording
