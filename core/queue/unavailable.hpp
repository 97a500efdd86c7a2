// SPDX-License-Identifier: LGPL-2.1-or-later
// Explains why a request for devices cannot be granted now: who holds the wanted devices, for whom
// the rest is kept, and what would help.
#pragma once

#include "core/queue/kept_devices.hpp"

#include <string>

namespace genv::core {

/// Returns for whom wanted devices are kept, and with which lifetime the request could use them
/// now, as a text to append to a sentence. Empty if none are kept.
std::string describeKeepers(const AttachRequest& request, const Requester& requester,
                            const LedgerView& ledger, const KeptDevices& kept);

/// Returns who holds wanted devices, as a clause: "bob holds GPUs 0-15 (environment 352) since Thu
/// 2026-11-26 11:30:37". Empty if nobody does.
std::string describeHolders(const AttachRequest& request, const DeviceTable& devices,
                            const LedgerView& ledger);

} // namespace genv::core
