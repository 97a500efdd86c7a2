// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limits.hpp"

#include "core/limit_definitions.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// Builds Limits with a value that `choice` returns for each limit.
template <typename Choose>
Limits choose(const Choose& choice) {
    Limits result;
    const auto set = [&](auto limit) {
        result.*limit = choice(limit);
        using Value = typename std::remove_reference_t<decltype(result.*limit)>::value_type;
        if (result.*limit == infinite<Value>())
            (result.*limit).reset();
    };
    for (const LimitDefinition& limit : limitDefinitions())
        std::visit(set, limit.member);
    return result;
}

// Calls a function with every value of a limit in a section for users or groups.
template <typename Limit, typename Use>
void forEachSection(const LimitTable& table, Limit limit, const Use& use) {
    for (const auto* sections : {&table.users, &table.groups}) {
        for (const auto& [name, limits] : *sections) {
            if (limits.*limit)
                use(limits.*limit);
        }
    }
}

Limits strictest(const LimitTable& table) {
    return choose([&](auto limit) {
        auto least = table.general.*limit;
        forEachSection(table, limit,
                       [&](const auto& value) { least = least ? std::min(least, value) : value; });
        return least;
    });
}

Limits loosestLimits(const LimitTable& table) {
    return choose([&](auto limit) {
        auto max = table.general.*limit;
        if (max) // without a general limit, somebody is unlimited
            forEachSection(table, limit, [&](const auto& value) { max = std::max(max, value); });
        return max;
    });
}

} // namespace

Limits LimitTable::of(const UserInfo& user) const {
    if (user.uid == 0)
        return {};
    if (user.isUnknown)
        return strictest(*this);
    const auto own = users.find(user.name);
    return choose([&](auto limit) {
        if (own != users.end() && own->second.*limit)
            return own->second.*limit;
        std::remove_cvref_t<decltype(general.*limit)> ofGroups;
        for (const std::string& name : user.groups) {
            const auto group = groups.find(name);
            if (group != groups.end())
                ofGroups = std::max(ofGroups, group->second.*limit);
        }
        return ofGroups ? ofGroups : general.*limit;
    });
}

Limits LimitTable::enforcedOn(const UserInfo& user) const {
    return user.isUnknown && user.uid != 0 ? loosestLimits(*this) : of(user);
}

} // namespace genv::core
