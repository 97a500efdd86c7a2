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

/// Long enough for a busy machine: the time of tests in which nothing hangs.
inline constexpr std::chrono::seconds patience{50};

/// The UUID of the fake GPU of this number.
std::string gpuUuid(unsigned number);

/// A GPU for the machine's file; further members are merged into it.
json gpu(unsigned number, const json& more = json::object());

/// A MIG instance for a GPU's "mig".
json migInstance(const std::string& uuid, unsigned gpuInstance, unsigned computeInstance);

/// A GPU's "processes": these pids, with as many bytes each as their pid.
json processes(const std::vector<core::Pid>& pids);

/// The children of this process, zombies included.
std::vector<pid_t> children();

class NvmlTest : public testing::Test {
  public:
    NvmlTest();
    ~NvmlTest() override;

  protected:
    /// Makes this the machine, at once.
    void become(const json& machine) const;
    /// Takes the driver away.
    void removeDriver() const;
    /// Makes the driver's listing of GPUs; without one, NVML is started anew for each sample.
    void listGpus(const std::vector<std::string>& names) const;
    /// Writes a file that the machine has below /proc.
    void writeProc(const std::string& name, std::string_view text) const;
    /// Takes NVML from this folder.
    void useLibraryFrom(const char* folder) const;

    /// Of a helper that does not hang.
    [[nodiscard]] service::NvmlSettings settings() const;
    /// For a helper that hangs once it has answered.
    [[nodiscard]] service::NvmlSettings hastySettings() const;

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    std::optional<std::string> libraryPath_; // as it was
};

/// The device of this UUID. Fails the test when there is none.
const core::DeviceSample& deviceOf(const core::GpuSample& sample, std::string_view uuid);

/// "pid:bytes", or "pid:?", of each use of this device, in the order of the pids.
std::vector<std::string> usesOf(const core::GpuSample& sample, const std::string& uuid);

/// The UUIDs of a sample's devices, in order.
std::vector<std::string> uuidsOf(const core::GpuSample& sample);

/// What the sample's error says. Fails the test when there is none.
std::string errorOf(core::Gpus& gpus);

} // namespace genv::tests
