// SPDX-License-Identifier: LGPL-2.1-or-later
// Moments as people write them, in the spelling of systemd.time(7) that journalctl takes.
#pragma once

#include "core/time.hpp"

#include <string_view>

namespace genv::core {

/// Reads a moment: "now", "today", "yesterday" and "tomorrow" (midnight), "-2h" and "2h ago",
/// "+2h", "YYYY-MM-DD", "HH:MM[:SS]" (today), both with a blank or a T between, or "@SECONDS" since
/// the epoch; a date also as genv prints it, "DD/MM/YYYY" or "DD/MM" of this year. Dates and times
/// are the machine's own. Throws Error(InvalidArgs) for anything else.
WallTime parseMoment(std::string_view text, WallTime now);

} // namespace genv::core
