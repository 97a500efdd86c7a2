// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses option values with units: amounts and times. Errors contain the name of the option.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl {

/// Parses a duration with core::parseTypedDuration(), in whole seconds. Throws Failure(Usage).
std::chrono::seconds readTime(const char* option, const std::string& text);
/// The same for an option of genv 1, where a number without a unit is in seconds.
std::chrono::seconds readTimeOrSeconds(const char* option, const std::string& text);
std::optional<std::chrono::seconds> readTime(const char* option,
                                             const std::optional<std::string>& text);

/// Parses an amount of memory in bytes. Throws Failure(Usage).
std::optional<std::uint64_t> readMemory(const char* option, const std::optional<std::string>& text);

/// Parses a time with core::parseMoment(). Throws Failure(Usage).
Time readMoment(const char* option, const std::string& text);

} // namespace genv::ctl
