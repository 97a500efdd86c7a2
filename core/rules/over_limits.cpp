// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/over_limits.hpp"

#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/rules/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

namespace genv::core {

namespace {

// A limit is usually a round number; an excess may not be.
std::string memoryAmount(Bytes amount) {
    constexpr std::size_t maxExactLength = 9;
    std::string exact = formatBytes(amount);
    return exact.size() <= maxExactLength ? exact : formatMebibytes(amount);
}

std::string amountText(const LimitDefinition& limit, std::uint64_t amount, bool withNoun) {
    switch (limit.unit()) {
    case LimitUnit::Memory:
        return memoryAmount({amount});
    case LimitUnit::Time:
        return formatDuration(std::chrono::seconds(static_cast<std::int64_t>(amount)));
    case LimitUnit::Count:
        break;
    }
    if (!withNoun)
        return std::to_string(amount);
    const std::string_view plural = limit.over.thing.ends_with('s') ? "es" : "s";
    return fmt::format("{} {}{}", amount, limit.over.thing, amount == 1 ? "" : plural);
}

const LimitDefinition& limitNamed(std::string_view key) {
    return *std::ranges::find(limitDefinitions(), key, &LimitDefinition::key);
}

std::string outcomeOf(const OverLimitTexts& texts, const Settings& settings) {
    if (!settings.keepGrants || texts.kept.empty())
        return actionOfRule(texts.acts, settings);
    return texts.actsAnyway ? fmt::format("{}; {}", texts.kept, actionOfRule(texts.acts, settings))
                            : std::string(texts.kept);
}

} // namespace

std::string actionOfRule(std::string_view acts, const Settings& settings) {
    if (settings.dryRun)
        return "only logged (DryRun=yes)";
    return settings.grace.count() == 0
               ? fmt::format("{} at once", acts)
               : fmt::format("{} after {}", acts, formatDuration(settings.grace));
}

std::vector<std::string> describeOverLimits(const std::string& user,
                                            const std::vector<LimitUse>& uses,
                                            const Settings& settings) {
    std::vector<std::string> sentences;
    for (const LimitDefinition& limit : limitDefinitions()) {
        const auto use = std::ranges::find(uses, limit.key, &LimitUse::name);
        if (limit.isAllowance || use == uses.end() || !use->allowed || use->used <= *use->allowed)
            continue;
        sentences.push_back(fmt::format(
            "{} {}, {} more than {} ({}): {}", escaped(user, maxUserNameLength),
            fmt::format(fmt::runtime(limit.over.has), amountText(limit, use->used, true)),
            amountText(limit, use->used - *use->allowed, false),
            amountText(limit, *use->allowed, false), limit.key, outcomeOf(limit.over, settings)));
    }
    return sentences;
}

void logOverLimits(const OverLimitSources& from, const Settings& before, const Settings& settings) {
    const auto last = from.observer.last();
    const std::set<Uid> uids = usersOf(from.ledger, last ? *last : Observation{});
    describeAll(from.users, uids, [from, before, settings, last](const auto& users) {
        for (const auto& [uid, user] : users) {
            const LimitUseSources sources{from.ledger, uid, last.get(), from.idleness,
                                          from.clock.bootNow()};
            std::vector<LimitUse> uses = limitUses(settings.limits.enforcedOn(user), sources);
            if (settings.keepGrants == before.keepGrants)
                std::erase_if(uses, [old = before.limits.enforcedOn(user)](const LimitUse& use) {
                    return limitNamed(use.name).allowed(old) == use.allowed;
                });
            for (const std::string& sentence : describeOverLimits(user.name, uses, settings))
                from.log.notice("{}", sentence);
        }
    });
}

} // namespace genv::core
