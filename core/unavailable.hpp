// SPDX-License-Identifier: LGPL-2.1-or-later
// Why a request for devices cannot be granted now: who holds what it wants, for whom the rest is
// kept, and what would help.
#pragma once

#include "core/kept_devices.hpp"

#include <string>

namespace genv::core {

/// For whom wanted devices are kept, and with which lifetime the request could use them now; empty
/// where none is kept. To be added to a sentence.
std::string describeKeepers(const AttachRequest& request, const Environment* environment,
                            const Ledger& ledger, const KeptDevices& kept);

/// Who holds wanted devices. To be added to a sentence.
std::string describeHolders(const AttachRequest& request, const DeviceTable& devices,
                            const Ledger& ledger);

} // namespace genv::core
