// SPDX-License-Identifier: LGPL-2.1-or-later
// From the fields of a journal record to an event of the history. What does not look as the
// contract says was not written by this service, or is damaged, and is no event.
#pragma once

#include "core/ports/history.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::service::journal {

/// The fields of a record as they were found; of several with one name the first counts.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// Whether a field is worth keeping for toRow().
bool isOfInterest(std::string_view name);

/// The event without its cursor and time; nothing where a field is not as the contract has it.
std::optional<core::HistoryRow> toRow(const Fields& fields);

/// How many bytes an event takes in a reply, roughly.
std::size_t sizeOf(const core::HistoryRow& row);

} // namespace genv::service::journal
