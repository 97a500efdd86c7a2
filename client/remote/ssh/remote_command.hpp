// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a command on another machine and reads its output, for hosts without a service that could be
// called over the bus. The output is not trusted, and its size is limited.
#pragma once

#include "client/remote/ssh/session.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// The result of a remote command.
struct FarOutput {
    int status = 0;        ///< its exit status; 127 if the command is not found
    std::string text;      ///< its standard output, unchanged
    std::string errorText; ///< the end of its standard error, unchanged
};

inline constexpr std::size_t maxFarOutputSize = std::size_t{16} << 20;

/// Runs a command on a host, with `input` as its standard input. Throws HostFailure if ssh fails,
/// the deadline expires, or the output is longer than `maxSize` bytes. A command that fails is not
/// a failure of the host.
FarOutput runThere(const Host& host, const std::vector<std::string>& words, std::string_view input,
                   const SshBounds& bounds, std::size_t maxSize = maxFarOutputSize);

} // namespace genv::remote
