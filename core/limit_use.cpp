// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limit_use.hpp"

#include "core/holdings.hpp"
#include "core/ledger.hpp"

#include <algorithm>

namespace genv::core {

namespace {

std::uint64_t countOf(const LimitDefinition& limit, const LimitUseSources& from) {
    if (const auto* observed = std::get_if<CountObserved>(&limit.count))
        return (*observed)(from);
    const CountHeld count = std::get<CountHeld>(limit.count);
    if (limit.scope != LimitScope::Environment)
        return count(holdingsOf(from.ledger, from.user));
    std::uint64_t max = 0;
    for (const EnvironmentId& id : from.ledger.environmentsOf(from.user)) {
        const Environment& environment = from.ledger.get(id);
        max = std::max(max,
                       environment.job || environment.parent ? 0 : count(holdingsOf(environment)));
    }
    return max;
}

} // namespace

std::vector<LimitUse> limitUses(const Limits& limits, const LimitUseSources& from) {
    std::vector<LimitUse> uses;
    for (const LimitDefinition& limit : limitDefinitions())
        uses.push_back({limit.key, limit.allowed(limits), countOf(limit, from)});
    return uses;
}

} // namespace genv::core
