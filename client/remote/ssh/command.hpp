// SPDX-License-Identifier: LGPL-2.1-or-later
// A command on another machine whose output is read here: for hosts that have no service to be
// asked over the bus. Its output is foreign and bounded.
#pragma once

#include "client/remote/ssh/session.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// How a far command ended.
struct FarOutput {
    int status = 0;   ///< its exit status; 127: there is no such command there
    std::string text; ///< its standard output, as it came
    std::string said; ///< the end of its standard error, as it came
};

inline constexpr std::size_t longestFarOutput = std::size_t{16} << 20;

/// Runs a command on a host, with `input` as its standard input. Throws HostFailure where ssh
/// fails, the deadline is over or the output is longer than that; a command that fails is no
/// failure of the host.
FarOutput runThere(const Host& host, const std::vector<std::string>& words, std::string_view input,
                   const SshBounds& bounds, std::size_t longest = longestFarOutput);

} // namespace genv::remote
