// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts the fields of a journal record to an event of the history. A record that violates the
// contract was not written by this service or is damaged, and is not an event.
#pragma once

#include "core/ports/history.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::service::journal {

/// The fields of a record in their original order. If a name occurs more than once, the first field
/// counts.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// Returns whether toRow() uses this field.
bool isOfInterest(std::string_view name);

/// Returns the event without its cursor and time, or nothing if a field violates the contract.
std::optional<core::HistoryRow> toRow(const Fields& fields);

/// Returns the approximate size of an event in a reply, in bytes.
std::size_t sizeOf(const core::HistoryRow& row);

} // namespace genv::service::journal
