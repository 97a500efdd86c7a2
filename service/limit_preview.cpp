// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/limit_preview.hpp"

#include "core/error.hpp"
#include "core/rules/over_limits.hpp"
#include "core/text.hpp"
#include "core/user_database.hpp"
#include "service/name_lookups.hpp"
#include "service/user_directory.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace genv::service {

namespace {

struct UserUse {
    core::Uid uid = 0;
    std::map<std::string_view, std::uint64_t> amounts; // by key
};

// Removes the text up to a separator, or all of it, and returns it.
std::string_view takeUpTo(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

template <typename Number>
Number readNumber(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        core::fail(core::ErrorCode::InvalidArgs, "invalid use \"{}\": expected a number",
                   core::escaped(text));
    return number;
}

UserUse parseUse(std::string_view text) {
    UserUse use{readNumber<core::Uid>(takeUpTo(text, ':')), {}};
    while (!text.empty()) {
        std::string_view amount = takeUpTo(text, ',');
        const std::string_view key = takeUpTo(amount, '=');
        use.amounts[key] = readNumber<std::uint64_t>(amount);
    }
    return use;
}

core::NamedIds resolveNames(const std::set<std::string>& names, bool areGroups) {
    core::NamedIds ids;
    for (const std::string& name : names) {
        try {
            if (const auto id = NameLookups::findInSystem({areGroups, name}, std::nullopt))
                ids.names[*id].insert(name);
            else
                ids.nobody.insert(name);
        } catch (const core::UserDatabaseError&) {
            ids.unanswered.insert(name);
        }
    }
    return ids;
}

core::UserInfo userNumbered(core::Uid uid) {
    const core::UserInfo unknown{uid, std::to_string(uid), {}, true};
    core::UserInfo user = UserDirectory::lookUpSystem(uid).value_or(unknown);
    if (user.name.empty())
        user.name = unknown.name;
    return user;
}

} // namespace

std::vector<std::string> previewLimits(core::Settings settings,
                                       const std::vector<std::string>& used) {
    const core::Names names = settings.limits.names();
    settings.limits.ids = {resolveNames(names.users, false), resolveNames(names.groups, true)};
    std::vector<std::string> sentences;
    for (const std::string& text : used) {
        const UserUse user = parseUse(text);
        const core::UserInfo info = userNumbered(user.uid);
        const core::Limits limits = settings.limits.enforcedOn(info);
        std::vector<core::LimitUse> uses;
        for (const core::LimitDefinition& limit : core::limitDefinitions()) {
            const auto amount = user.amounts.find(limit.key);
            if (amount != user.amounts.end())
                uses.push_back({limit.key, limit.allowed(limits), amount->second});
        }
        std::ranges::move(core::describeOverLimits(info.name, uses, settings),
                          std::back_inserter(sentences));
    }
    return sentences;
}

} // namespace genv::service
