// SPDX-License-Identifier: LGPL-2.1-or-later
// What a request chooses from: the machine's devices or, for a child environment, what its parent
// holds. Of a parent's devices only its children take something from each other: that the parent
// holds them is why they can have them.
#pragma once

#include "core/device_table.hpp"

#include <optional>

namespace genv::core {

class Ledger;

class Pool {
  public:
    /// `parent`: null for the machine's devices. The ledger outlives this.
    Pool(const Ledger& ledger, const Environment* parent);

    [[nodiscard]] const DeviceTable& devices() const;
    /// Whether an environment's requests choose from these.
    [[nodiscard]] bool isFor(const Environment& environment) const {
        return environment.parent == parent_;
    }
    /// Takes over what changed since this was made; the table keeps its address.
    void refresh();

  private:
    const Ledger& ledger_;
    std::optional<EnvironmentId> parent_;
    DeviceTable own_; ///< of a parent's devices
};

} // namespace genv::core
