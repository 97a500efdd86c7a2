// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the journal's own protocol, by libsystemd.
#pragma once

#include "service/journal/record.hpp"

namespace genv::service::journal {

/// Whether a descriptor is connected to the journal: it is the one that JOURNAL_STREAM names
/// (systemd.exec(5)), where an inherited variable says nothing of another descriptor, or its other
/// end is the journal's socket, as systemd-cat(1) has it.
bool isJournal(int descriptor);

/// Sends a record. Blocks for as long as the journal does not take it; may be called from any
/// thread. Returns whether the journal has it, or there is none.
bool send(const Record& record);

} // namespace genv::service::journal
