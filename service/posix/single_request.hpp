// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection of a helper that systemd starts for one request of genvd: a line on standard
// input, and a line on standard output.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace genv::service {

/// How long a helper waits for its request, which genvd sends as soon as it connects.
inline constexpr std::chrono::seconds requestTimeout{2};

/// Reads the request, without the end of its line. Throws std::runtime_error if it is late,
/// incomplete or not shorter than `max` bytes.
std::string readSingleRequest(std::size_t max);

/// Writes the answer and the end of its line, unless nothing reads it any more.
void writeSingleAnswer(std::string answer);

} // namespace genv::service
