// SPDX-License-Identifier: LGPL-2.1-or-later
// Since when attachments are idle. An attachment is in use at an observation when a compute process
// of its environment is on the device and the device's utilisation is above zero, or unknown.
// Nothing of this is written down: after a restart every attachment counts as used at that moment.
#pragma once

#include "core/ledger.hpp"
#include "core/membership.hpp"
#include "core/ports/observer.hpp"

#include <map>
#include <utility>

namespace genv::core {

class Idleness {
  public:
    /// Takes an observation into account; attachments that are gone are forgotten.
    void observed(const Ledger& ledger, const Observation& observation);

    /// How long an attachment has been idle at a moment; zero for one that no observation has met
    /// yet.
    [[nodiscard]] std::chrono::milliseconds of(const EnvironmentId& environment,
                                               const DeviceUuid& device, BootTime now) const;

  private:
    using Key = std::pair<EnvironmentId, DeviceUuid>;
    std::map<Key, BootTime> lastUsed_;
};

} // namespace genv::core
