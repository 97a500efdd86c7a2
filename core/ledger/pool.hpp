// SPDX-License-Identifier: LGPL-2.1-or-later
// The pool from which a request chooses: the machine's devices or, for a child environment, the
// devices of its parent. Among a parent's devices only other children count as holders: the hold of
// the parent is the reason why its children can use them.
#pragma once

#include "core/model/device_table.hpp"

#include <optional>

namespace genv::core {

class LedgerView;

class Pool {
  public:
    /// `parent`: null for the machine's devices. The ledger must outlive this object.
    Pool(const LedgerView& ledger, const EnvironmentRecord* parent);

    [[nodiscard]] const DeviceTable& devices() const;
    /// Returns whether the requests of an environment choose from this pool.
    [[nodiscard]] bool isFor(const EnvironmentRecord& environment) const {
        return environment.parent == parent_;
    }
    /// Updates the pool after a change of the ledger. The address of the table is stable.
    void refresh();

  private:
    const LedgerView& ledger_;
    std::optional<EnvironmentId> parent_;
    DeviceTable own_; ///< the devices of a parent
};

} // namespace genv::core
