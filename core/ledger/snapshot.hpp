// SPDX-License-Identifier: LGPL-2.1-or-later
// The snapshot: the whole state at one moment as JSON, in the format of the old tool. Its readers
// distinguish types by the key sets. Therefore every object has exactly the keys below, with null
// for unset values.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/ports/observer.hpp"

#include <string>

namespace genv::core {

/// Returns `{"processes": {...}, "envs": {...}, "devices": {...}}`, with amounts in the format of
/// formatMebibytes() or formatBytes(), and times as `%d/%m/%Y %H:%M:%S` in the machine's time zone.
std::string snapshot(const LedgerView& ledger, const Observation& observation);

} // namespace genv::core
