// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads fields of Slurm's JSON records in the forms of all its versions.
#pragma once

#include "genv/types.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace genv::ctl::cluster::fields {

/// Parses a number or {set, infinite, number}. Returns nothing for null, unset and infinite values.
std::optional<std::uint64_t> numberOf(const nlohmann::json& value);
/// Parses such a field of a record. Returns nothing if the record lacks it, too.
std::optional<std::uint64_t> numberIn(const nlohmann::json& record, const char* field);
/// Returns an empty text if the field is missing or no text.
std::string textIn(const nlohmann::json& record, const char* field);
/// Returns a word or a list of words, in capitals.
std::set<std::string> wordsIn(const nlohmann::json& record, const char* field);
/// Returns nothing for a time that is not set.
std::optional<Time> timeIn(const nlohmann::json& record, const char* field);

} // namespace genv::ctl::cluster::fields
