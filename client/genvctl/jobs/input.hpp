// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads what a user passes to a job: a script, or the lines of an array.
#pragma once

#include <cstddef>
#include <string>

namespace genv::ctl {

/// Reads a file, which may be a pipe, or standard input if it is "-". Stops at `maxSize` bytes.
/// Throws Failure(Usage) if it cannot be read.
std::string readInput(const std::string& file, std::size_t maxSize);

} // namespace genv::ctl
