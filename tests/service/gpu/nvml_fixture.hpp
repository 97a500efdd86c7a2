// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine with a fake NVIDIA driver (tests/fake_nvml), sampled by the real genv-nvml.
#pragma once

#include "service/gpu/nvml_gpus.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::tests {

using nlohmann::json;

/// Long enough for a busy machine: the time limit of tests in which nothing hangs.
inline constexpr std::chrono::seconds timeout{50};

/// Returns the UUID of the fake GPU with this number.
std::string gpuUuid(unsigned number);

/// Returns a GPU for the machine's file; further members are merged into it.
json gpu(unsigned number, const json& more = json::object());

/// Returns a MIG instance for a GPU's "mig".
json migInstance(const std::string& uuid, unsigned gpuInstance, unsigned computeInstance);

/// Returns a GPU's "processes": these PIDs, each using as many bytes as its PID.
json processes(const std::vector<core::Pid>& pids);

/// Returns the children of this process, zombies included.
std::vector<pid_t> children();

class NvmlTest : public testing::Test {
  public:
    NvmlTest();
    ~NvmlTest() override;

  protected:
    /// Replaces the machine at once.
    void become(const json& machine) const;
    /// Removes the driver.
    void removeDriver() const;
    /// Sets the driver's list of GPUs. Without a list, NVML is restarted for each sample.
    void listGpus(const std::vector<std::string>& names) const;
    /// Writes a file of the machine below /proc.
    void writeProc(const std::string& name, std::string_view text) const;
    /// Loads NVML from this folder.
    void useLibraryFrom(const char* folder) const;

    /// Settings for a helper that does not hang.
    [[nodiscard]] service::NvmlSettings settings() const;
    /// Settings for a helper that hangs after its first answer.
    [[nodiscard]] service::NvmlSettings hastySettings() const;

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    std::optional<std::string> libraryPath_; // before the test
};

/// Returns the device with this UUID. Fails the test if there is none.
const core::DeviceSample& deviceOf(const core::GpuSample& sample, std::string_view uuid);

/// Returns "pid:bytes", or "pid:?", for each use of this device, sorted by PID.
std::vector<std::string> usesOf(const core::GpuSample& sample, const std::string& uuid);

/// Returns the UUIDs of a sample's devices, in order.
std::vector<std::string> uuidsOf(const core::GpuSample& sample);

/// Returns the error of a sample. Fails the test if there is none.
std::string errorOf(core::Gpus& gpus);

} // namespace genv::tests
