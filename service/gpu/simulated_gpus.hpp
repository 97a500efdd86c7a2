// SPDX-License-Identifier: LGPL-2.1-or-later
// GPUs that are none, for demonstrations and tests on machines without. Configured by the
// GENV_MOCK_ variables, which people know from the tool that genv replaces; used only when asked
// for.
#pragma once

#include "core/ports/gpus.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// Simulated GPUs, all alike and always well. They have no compute processes, unless a process name
/// is given: then each process of that name uses the devices that CUDA would show it.
class SimulatedGpus final : public core::Gpus {
  public:
    /// Gives the value of an environment variable.
    using Variables = std::function<std::optional<std::string>(const std::string& name)>;

    /// Reads the variables once. `proc` is where the processes are. Throws
    /// core::Error(InvalidArgs), which names the variable and what it may be.
    explicit SimulatedGpus(const Variables& variables, std::filesystem::path proc = "/proc");

    /// Whether the variables ask for simulated GPUs.
    static bool areAskedFor(const Variables& variables);

    core::GpuSample sample() override;

  private:
    std::filesystem::path proc_;
    std::vector<core::DeviceSample> devices_;
    std::optional<std::string> processName_;
    core::Bytes processMemory_;
    bool usesAll_ = false; ///< a process uses every device, and its environment is not read
};

} // namespace genv::service
