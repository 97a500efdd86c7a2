// SPDX-License-Identifier: LGPL-2.1-or-later
// Values on the command line that are more than they look: amounts and times. What is wrong with
// one is said with the option's name.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl {

/// A time span as core::parseDuration() reads it, in whole seconds. Throws Failure(Usage).
std::chrono::seconds readTime(const char* option, const std::string& text);
std::optional<std::chrono::seconds> readTime(const char* option,
                                             const std::optional<std::string>& text);

/// An amount of memory in bytes. Throws Failure(Usage).
std::optional<std::uint64_t> readMemory(const char* option, const std::optional<std::string>& text);

/// A moment as core::parseMoment() reads it. Throws Failure(Usage).
Time readMoment(const char* option, const std::string& text);

} // namespace genv::ctl
