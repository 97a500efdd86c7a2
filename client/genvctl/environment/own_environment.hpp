// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment of this process and of the command that replaces it, for "run" and "jupyter run".
#pragma once

#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/options/within_options.hpp"
#include "client/genvctl/shell/variables.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

class Context;

struct OwnEnvironmentOptions {
    ConfigurationOptions configuration;
    DeviceOptions devices;
    bool overSubscribe = false;
    bool nvmlFilter = false;
    WaitingOptions waiting;
    WithinOptions within; ///< registered separately by the commands that have it
    /// For a command: without a number of GPUs it gets that of the caller's own .genv, else one. A
    /// command in a Slurm job gets none.
    bool meansOneGpu = false;

    /// Adds all options to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// Adds all options except the name of the environment.
    void addDevicesTo(CLI::App& command);
    /// The same without the wait and the lease.
    void addGpusTo(CLI::App& command);
    /// Whether any option about the environment or its devices was given.
    [[nodiscard]] bool isGiven() const {
        return configuration.isGiven() || devices.isGiven() || overSubscribe ||
               !waiting.wait.empty() || waiting.lifetime || within.isGiven();
    }
    /// Throws Failure(Usage) for an invalid value.
    void check() const;
    /// Returns the configuration, with the GPUs that meansOneGpu adds. Throws Failure(Usage).
    [[nodiscard]] Configuration read() const;
    /// Whether read() adds GPUs that no option requests.
    [[nodiscard]] bool addsGpus() const {
        return meansOneGpu && !configuration.gpus && !devices.isGiven();
    }
    /// Returns the given options, except the name, as words of a command line.
    [[nodiscard]] std::vector<std::string> words() const;
};

/// Starts an environment with its devices for the lifetime of this process, and sets the variables
/// of this process. With a Jupyter kernel id, this process is the kernel and was started with its
/// connection file. If the devices are not available, the environment ends with this process.
/// Throws Failure, Error and Interrupted.
void enterOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                         const std::optional<std::string>& kernel = {});

/// The first part of enterOwnEnvironment(): starts the environment. The second part is
/// setOwnVariables().
StartedEnvironment startOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                                       const std::optional<std::string>& kernel = {});

/// Registers this process as a root process of an environment of the user. With a predecessor,
/// unregisters that process, so that its end has no effect. Throws Failure and Error.
void joinEnvironment(Context& context, const std::string& id,
                     std::optional<std::uint32_t> predecessor);

} // namespace genv::ctl
