// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of the commands that take devices: how long to wait for them, and how long to have
// them.
#pragma once

#include "genv/options.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace genv::ctl {

struct WaitingOptions {
    std::string wait; ///< empty: not given
    std::optional<std::string> lifetime;

    /// Adds --wait and --lifetime; `whatEnds` says what the latter is about. This object must
    /// outlive the parsing.
    void addTo(CLI::App& command, const std::string& whatEnds);

    /// Puts them among the options of a request. Throws Failure(Usage).
    void apply(ActivateOptions& options) const;
    void apply(AttachOptions& options) const;
};

/// Reads --lifetime or the like: at least a second. Throws Failure(Usage).
std::chrono::seconds readLifetime(const char* option, const std::string& text);

} // namespace genv::ctl
