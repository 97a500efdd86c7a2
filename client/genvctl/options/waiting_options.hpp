// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of commands that request devices: the wait in the queue and the lifetime.
#pragma once

#include "genv/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace genv::ctl {

struct WaitingOptions {
    std::string wait; ///< empty if not given
    std::optional<std::string> lifetime;
    std::optional<std::int32_t> priority; ///< needs a wait

    /// Adds --wait, --priority and --lifetime; `whatEnds` is the subject in the help of --lifetime.
    /// This object must outlive the parsing.
    void addTo(CLI::App& command, const std::string& whatEnds);
    /// Adds only --wait and --priority.
    void addWaitTo(CLI::App& command);
    /// Adds only --lifetime.
    void addLifetimeTo(CLI::App& command, const std::string& whatEnds);

    /// Applies the values to the options of a request. Throws Failure(Usage).
    void apply(ActivateOptions& options) const;
    void apply(AttachOptions& options) const;
};

/// Parses --lifetime or a similar option: at least one second. Throws Failure(Usage).
std::chrono::seconds readLifetime(const char* option, const std::string& text);

} // namespace genv::ctl
