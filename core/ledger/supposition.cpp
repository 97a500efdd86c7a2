// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/supposition.hpp"

#include <utility>

namespace genv::core {

Supposition::Supposition(Ledger& ledger, const std::optional<EnvironmentRecord>& next)
    : ledger_(ledger) {
    if (!next)
        return;
    ledger_.index(*ledger_.byId_.at(next->id), false);
    real_ = ledger_.environments_.extract(next->sequence);
    if (next->isAlive())
        ledger_.index(ledger_.environments_.emplace(next->sequence, *next).first->second, true);
}

Supposition::~Supposition() {
    if (real_.empty())
        return;
    if (const auto supposed = ledger_.environments_.find(real_.key());
        supposed != ledger_.environments_.end()) {
        ledger_.index(supposed->second, false);
        ledger_.environments_.erase(supposed);
    }
    ledger_.index(ledger_.environments_.insert(std::move(real_)).position->second, true);
}

} // namespace genv::core
