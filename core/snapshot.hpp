// SPDX-License-Identifier: LGPL-2.1-or-later
// The snapshot: everything at one moment as the JSON that the old tool's readers know. They tell
// types apart by the key sets, so every object has exactly the keys below, null where nothing is
// set.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/observer.hpp"

#include <string>

namespace genv::core {

/// `{"processes": {...}, "envs": {...}, "devices": {...}}`, amounts as formatMebibytes() or
/// formatBytes() write them, times as `%d/%m/%Y %H:%M:%S` in the machine's time zone.
std::string snapshot(const Ledger& ledger, const Observation& observation);

} // namespace genv::core
