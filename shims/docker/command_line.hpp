// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the options of one command as docker and podman read them (pflag, with options only before
// the first argument), and remembers where each stood, so that everything else stays as it was.
#pragma once

#include "shims/docker/options.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace genv::shims {

using Words = std::vector<std::string>;

/// An option that was given, with its value.
struct GivenOption {
    std::string name;      ///< the long one
    std::string value;     ///< empty for a switch without "="
    std::size_t first = 0; ///< the words [first, last) are it
    std::size_t last = 0;
    bool isJoined = false; ///< the value stands in the same word
};

/// The options of a command.
struct GivenOptions {
    std::vector<GivenOption> options; ///< in order
    std::size_t end = 0;              ///< the first word that is none of them
    /// An option that the table does not have and that has no "=": whether the word behind it is
    /// its value is not known, and reading ends at it.
    std::optional<std::string> unclear;
};

/// Reads from the word at `begin` on.
GivenOptions readOptions(const Words& words, std::size_t begin, const OptionTable& table);

} // namespace genv::shims
