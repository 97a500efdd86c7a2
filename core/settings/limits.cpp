// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/limits.hpp"

#include "core/placement/fair_order.hpp"
#include "core/settings/limit_definitions.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// Builds Limits with a value that `choice` returns for each limit.
template <typename Choose>
Limits choose(const Choose& choice) {
    Limits result;
    for (const LimitDefinition& limit : limitDefinitions()) {
        const auto set = [&](auto member) {
            result.*member = choice(member);
            using Value = typename std::remove_reference_t<decltype(result.*member)>::value_type;
            if (result.*member == (limit.isAllowance ? Value{} : infinite<Value>()))
                (result.*member).reset();
        };
        std::visit(set, limit.member);
    }
    return result;
}

// The sections that concern a user.
struct Sections {
    std::vector<const Limits*> own;
    std::vector<const Limits*> groups;
    std::vector<const Limits*> perhapsOwn;
    std::vector<const Limits*> perhapsGroups;
};

using Table = std::map<std::string, Limits>;

void add(const Table& table, const std::string& name, std::vector<const Limits*>& sections) {
    if (const auto found = table.find(name); found != table.end())
        sections.push_back(&found->second);
}

void add(const Table& table, const std::set<std::string>& names,
         std::vector<const Limits*>& sections) {
    for (const std::string& name : names)
        add(table, name, sections);
}

// Adds the sections that name a uid or gid.
void addNamed(const Table& table, const NamedIds& ids, std::uint32_t id,
              std::vector<const Limits*>& sections) {
    if (const auto spellings = ids.names.find(id); spellings != ids.names.end())
        add(table, spellings->second, sections);
}

Sections sectionsOf(const LimitTable& table, const UserInfo& user) {
    Sections sections;
    if (user.isUnknown) {
        for (const auto& [name, limits] : table.users)
            sections.perhapsOwn.push_back(&limits);
        for (const auto& [name, limits] : table.groups)
            sections.perhapsGroups.push_back(&limits);
        return sections;
    }
    add(table.users, user.name, sections.own);
    addNamed(table.users, table.ids.users, user.uid, sections.own);
    add(table.users, table.ids.users.unanswered, sections.perhapsOwn);
    for (const Gid gid : user.groups)
        addNamed(table.groups, table.ids.groups, gid, sections.groups);
    add(table.groups, table.ids.groups.unanswered, sections.perhapsGroups);
    return sections;
}

// Compares limits. An unset one is unlimited.
struct IsStricter {
    template <typename Value>
    bool operator()(const std::optional<Value>& one, const std::optional<Value>& other) const {
        return one && (!other || *one < *other);
    }
};

struct IsMoreGenerous {
    template <typename Value>
    bool operator()(const std::optional<Value>& one, const std::optional<Value>& other) const {
        return IsStricter()(other, one);
    }
};

// Returns the user's limit. Of several values that may be the user's, returns the first one in the
// order of `comesBefore`.
template <typename Limit, typename Order>
auto valueOf(const Limits& general, const Sections& sections, Limit limit, Order comesBefore) {
    using Value = std::remove_cvref_t<decltype(general.*limit)>;
    Value own;
    for (const Limits* section : sections.own)
        own = std::min(own, section->*limit, IsStricter());
    if (own)
        return own;
    Value ofGroups;
    for (const Limits* section : sections.groups)
        ofGroups = std::max(ofGroups, section->*limit);
    Value value = ofGroups ? ofGroups : general.*limit;
    for (const Limits* section : sections.perhapsGroups) {
        if (section->*limit)
            value = std::min(value, std::max(ofGroups, section->*limit), comesBefore);
    }
    for (const Limits* section : sections.perhapsOwn) {
        if (section->*limit)
            value = std::min(value, section->*limit, comesBefore);
    }
    return value;
}

Limits limitsFrom(const LimitTable& table, const UserInfo& user, auto order) {
    if (user.uid == 0)
        return {};
    const Sections sections = sectionsOf(table, user);
    Limits general = table.general;
    general.maxPreemptibleDevices = general.maxPreemptibleDevices.value_or(0);
    return choose([&](auto limit) { return valueOf(general, sections, limit, order); });
}

} // namespace

Names LimitTable::names() const {
    Names names;
    for (const auto& [name, limits] : users)
        names.users.insert(name);
    for (const auto& [name, limits] : groups)
        names.groups.insert(name);
    return names;
}

Limits LimitTable::of(const UserInfo& user) const {
    return limitsFrom(*this, user, IsStricter());
}

std::uint32_t LimitTable::weightOf(const UserInfo& user) const {
    Limits defaults;
    defaults.weight = defaultWeight;
    return valueOf(defaults, sectionsOf(*this, user), &Limits::weight, IsStricter())
        .value_or(defaultWeight);
}

Limits LimitTable::enforcedOn(const UserInfo& user) const {
    return limitsFrom(*this, user, IsMoreGenerous());
}

} // namespace genv::core
