// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the journal's own protocol, through libsystemd.
#pragma once

#include "service/journal/record.hpp"

namespace genv::service::journal {

/// Returns whether a descriptor is connected to the journal. This is the case if JOURNAL_STREAM
/// (systemd.exec(5)) names this very descriptor, because an inherited variable may refer to another
/// one, or if its other end is the journal's socket, as with systemd-cat(1).
bool isJournal(int descriptor);

/// Sends a record. Blocks until the journal accepts it. May be called from any thread. Returns true
/// if the journal has accepted the record or if there is no journal.
bool send(const Record& record);

} // namespace genv::service::journal
