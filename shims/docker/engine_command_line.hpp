// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the options of one command in the same way as docker and podman (pflag, options only before
// the first argument). Records the position of each option, so that everything else can stay
// unchanged.
#pragma once

#include "shims/docker/engine_options.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace genv::shims {

using Words = std::vector<std::string>;

/// An option on the command line, with its value.
struct EngineOption {
    std::string name;      ///< the long name
    std::string value;     ///< empty for a switch without "="
    std::size_t first = 0; ///< its words are [first, last)
    std::size_t last = 0;
    bool isJoined = false; ///< the value is in the same word
};

/// The options of a command.
struct GivenOptions {
    std::vector<EngineOption> options; ///< in their original order
    std::size_t end = 0;               ///< the first word after the options
    /// The first option that the table does not have and that has no "=". The next word may or may
    /// not be its value, so reading stops there.
    std::optional<std::string> unclear;
};

/// Reads options, starting with the word at `begin`.
GivenOptions readOptions(const Words& words, std::size_t begin, const OptionTable& table);

} // namespace genv::shims
