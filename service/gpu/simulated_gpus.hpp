// SPDX-License-Identifier: LGPL-2.1-or-later
// Simulated GPUs for demonstrations and tests on machines without GPUs. The GENV_MOCK_ variables
// configure them; users know these from the tool that genv replaces. Simulated GPUs are used only
// on request.
#pragma once

#include "core/ports/gpus.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// Simulated GPUs, all alike and always healthy. They have no compute processes unless a process
/// name is configured. Then each process with that name uses the devices that CUDA would show to
/// it.
class SimulatedGpus final : public core::Gpus {
  public:
    /// Returns the value of an environment variable.
    using Variables = std::function<std::optional<std::string>(const std::string& name)>;

    /// Reads the variables once. `proc` is the mount point of proc(5). Throws
    /// core::Error(InvalidArgs), which names the variable and its valid values.
    explicit SimulatedGpus(const Variables& variables, std::filesystem::path proc = "/proc");

    /// Returns whether the variables request simulated GPUs.
    static bool areAskedFor(const Variables& variables);

    core::GpuSample sample() override;

  private:
    std::filesystem::path proc_;
    std::vector<core::DeviceSample> devices_;
    std::optional<std::string> processName_;
    core::Bytes processMemory_;
    bool usesAll_ = false; ///< processes use every device, and their environment is not read
};

} // namespace genv::service
