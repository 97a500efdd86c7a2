// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment for this very process and what it becomes: of "run" and of "jupyter run".
#pragma once

#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/options/within_options.hpp"

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
    WithinOptions within; ///< added by itself, where a command has it

    /// Adds all of them to a command. This object must outlive the parsing.
    void addTo(CLI::App& command);
    /// All but the environment's name.
    void addDevicesTo(CLI::App& command);
    /// Whether any was given that is about the environment or its devices.
    [[nodiscard]] bool isGiven() const {
        return configuration.isGiven() || devices.isGiven() || overSubscribe ||
               !waiting.wait.empty() || waiting.lifetime || within.isGiven();
    }
    /// Throws Failure(Usage) for a value that makes no sense.
    void check() const;
    /// Those that were given, but for the name, as words of a command line.
    [[nodiscard]] std::vector<std::string> words() const;
};

/// Starts an environment with its devices that lives as long as this process, and sets this
/// process's variables by it. With the id of a Jupyter kernel, this process is that kernel and was
/// started with its connection file. Where the devices cannot be had, the end of this process ends
/// the environment. Throws Failure, Error and Interrupted.
void enterOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                         const std::optional<std::string>& kernel = {});

/// The first part of that: starts the environment and returns its id. The second part is
/// setOwnVariables().
std::string startOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                                const std::optional<std::string>& kernel = {});

/// Makes this process a root process of an environment of the user's own. With a predecessor, that
/// one is none any more, so that its end changes nothing. Throws Failure and Error.
void joinEnvironment(Context& context, const std::string& id,
                     std::optional<std::uint32_t> predecessor);

} // namespace genv::ctl
