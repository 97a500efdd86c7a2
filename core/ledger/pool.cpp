// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/pool.hpp"

#include "core/ledger/ledger_view.hpp"

namespace genv::core {

Pool::Pool(const LedgerView& ledger, const EnvironmentRecord* parent) : ledger_(ledger) {
    if (parent == nullptr)
        return;
    parent_ = parent->id;
    own_ = DeviceTable(ledger.devices(), *parent);
}

const DeviceTable& Pool::devices() const {
    return parent_ ? own_ : ledger_.devices();
}

void Pool::refresh() {
    if (!parent_)
        return;
    const EnvironmentRecord* parent = ledger_.find(*parent_);
    own_ = parent != nullptr ? DeviceTable(ledger_.devices(), *parent) : DeviceTable();
}

} // namespace genv::core
