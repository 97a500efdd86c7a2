// SPDX-License-Identifier: LGPL-2.1-or-later
// The options for the configuration of an environment, common to all commands that start one.
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

/// The headings of option groups in the help.
inline constexpr const char* gpuOptions = "GPU options";
inline constexpr const char* leaseOptions = "Queue and lease options";

struct ConfigurationOptions {
    std::optional<std::string> name;
    std::optional<std::string> gpuMemory;
    std::optional<std::string> gpus;
    bool overSubscribable = false; ///< not a part of what read() returns
    std::string preemptible;       ///< "park", "end", or empty; not a part of what read() returns

    /// Adds --name, --gpus, --gpu-memory, --allow-over-subscribe and --preemptible. This object
    /// must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds only --name.
    void addNameTo(CLI::App& command);
    /// Adds all options except --name.
    void addDevicesTo(CLI::App& command);

    /// Whether any of them was given.
    [[nodiscard]] bool isGiven() const {
        return name || gpuMemory || gpus || overSubscribable || !preemptible.empty();
    }

    /// Returns the configuration. Throws Failure(Usage) for an invalid value.
    [[nodiscard]] Configuration read() const;
};

/// The options that change whether other users may share the GPUs of an environment.
struct ConsentOptions {
    bool allows = false;
    bool forbids = false;

    /// Adds --allow-over-subscribe and --no-allow-over-subscribe. This object must outlive the
    /// parsing.
    void addTo(CLI::App& command);
    /// Returns the new setting; nothing if it stays as it is.
    [[nodiscard]] std::optional<bool> setting() const;
};

/// Adds --preemptible. `kind`: "park", "end", or empty without the option; it must outlive the
/// parsing.
void addPreemptibleTo(CLI::App& command, std::string& kind);
/// Returns the kind, or nothing for an empty one.
std::optional<std::string> preemptibleKind(const std::string& kind);

/// The options that select GPUs, common to all commands that attach some.
struct DeviceOptions {
    std::vector<std::uint32_t> indices;
    std::vector<std::string> uuids;
    std::optional<std::string> model;

    /// Adds --index, --uuid and --model. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds only --index and --uuid, which require that the machine is known.
    void addNamesTo(CLI::App& command);
    /// Adds only --model.
    void addModelTo(CLI::App& command);

    /// Whether GPUs were selected individually.
    [[nodiscard]] bool areNamed() const { return !indices.empty() || !uuids.empty(); }
    /// Whether any of them was given.
    [[nodiscard]] bool isGiven() const { return areNamed() || model; }
    /// Throws Failure(Usage) if the options contradict each other or a count given by this option.
    void check(bool hasCount, const char* countOption) const;
};

/// Returns the first configuration, with its unset fields taken from the second.
Configuration merged(Configuration first, const Configuration& second);

} // namespace genv::ctl
