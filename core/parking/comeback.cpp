// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/comeback.hpp"

namespace genv::core {

std::optional<WallTime> comebackOf(const Queue& queue, const LedgerView& ledger, const Clock& clock,
                                   const EnvironmentId& environment) {
    const EnvironmentRecord* known = ledger.find(environment);
    if (known == nullptr || known->waits.empty())
        return std::nullopt;
    for (const Queue::WaitState& state : queue.states()) {
        if (ledger.waits().at(state.ticket) == environment)
            return state.expectedStart
                       ? std::optional(clock.wallNow() + (*state.expectedStart - clock.bootNow()))
                       : std::nullopt;
    }
    return std::nullopt;
}

} // namespace genv::core
