// SPDX-License-Identifier: LGPL-2.1-or-later
// The options that say what an environment wants, the same for every command that starts one.
#pragma once

#include "client/genvctl/options/project.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The titles of groups of options in the help.
inline constexpr const char* gpuOptions = "GPU options";
inline constexpr const char* leaseOptions = "Queue and lease options";

struct ConfigurationOptions {
    std::optional<std::string> name;
    std::optional<std::string> gpuMemory;
    std::optional<std::string> gpus;

    /// Adds --name, --gpus and --gpu-memory. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds only --name.
    void addNameTo(CLI::App& command);
    /// Adds all but --name.
    void addDevicesTo(CLI::App& command);

    /// Whether any of them was given.
    [[nodiscard]] bool isGiven() const { return name || gpuMemory || gpus; }

    /// The configuration they say. Throws Failure(Usage) for a value that makes no sense.
    [[nodiscard]] Configuration read() const;
};

/// The options that say which GPUs, the same for every command that takes some.
struct DeviceOptions {
    std::vector<std::uint32_t> indices;
    std::vector<std::string> uuids;
    std::optional<std::string> model;

    /// Adds --index, --uuid and --model. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds only --index and --uuid, which make sense where the machine is known.
    void addNamesTo(CLI::App& command);
    /// Adds only --model.
    void addModelTo(CLI::App& command);

    /// Whether GPUs are named one by one.
    [[nodiscard]] bool areNamed() const { return !indices.empty() || !uuids.empty(); }
    /// Whether any of them was given.
    [[nodiscard]] bool isGiven() const { return areNamed() || model; }
    /// Throws Failure(Usage) for what contradicts itself or a number of GPUs by this option.
    void check(bool hasCount, const char* countOption) const;
};

/// The first configuration, and what it leaves unset from the second.
Configuration merged(Configuration first, const Configuration& second);

} // namespace genv::ctl
