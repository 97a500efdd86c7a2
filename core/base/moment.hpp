// SPDX-License-Identifier: LGPL-2.1-or-later
// Timestamps in the syntax of systemd.time(7), as journalctl accepts them.
#pragma once

#include "core/base/time.hpp"

#include <string_view>

namespace genv::core {

/// Parses a timestamp: "now", "today", "yesterday" and "tomorrow" (midnight), "-2h" and "2h ago",
/// "+2h", "YYYY-MM-DD", "HH:MM[:SS]" (today), both with a blank or a T in between, or "@SECONDS"
/// since the epoch. Dates are also accepted as genv prints them: "DD/MM/YYYY", or "DD/MM" of this
/// year. Dates and times are in the machine's time zone. Throws Error(InvalidArgs) for anything
/// else.
WallTime parseMoment(std::string_view text, WallTime now);

} // namespace genv::core
