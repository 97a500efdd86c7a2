// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/configured_names.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

void describe(const core::NamedIds& ids, std::string_view kind, std::string_view section,
              std::vector<std::string>& complaints) {
    for (const std::string& name : ids.nobody)
        complaints.push_back(fmt::format("genvd.conf: unknown {} \"{}\": the section applies to "
                                         "nobody",
                                         kind, core::escaped(name)));
    for (const std::string& name : ids.unanswered)
        complaints.push_back(fmt::format(
            "genvd.conf: the user database does not answer about the {} \"{}\": until it does, "
            "this section counts for the requests of each user for whom it is stricter",
            kind, core::escaped(name)));
    for (const std::string& sentence : core::describeSharedIds(ids, section))
        complaints.push_back("genvd.conf: " + sentence);
}

} // namespace

ConfiguredNames::ConfiguredNames(core::Users& users, const core::Clock& clock, core::Log& log)
    : users_(users), clock_(clock), log_(log) {}

void ConfiguredNames::resolve(const core::LimitTable& limits, Found found) {
    ++settings_;
    isAsking_ = false;
    ask(limits.names(), std::move(found));
}

void ConfiguredNames::check(const core::LimitTable& limits, Found found) {
    if (isAsking_ || clock_.bootNow() < due_)
        return;
    ask(limits.names(),
        [this, asked = settings_, found = std::move(found)](const core::ResolvedNames& answer) {
            if (asked == settings_)
                found(answer);
        });
}

void ConfiguredNames::ask(const core::Names& names, Found found) {
    isAsking_ = true;
    constexpr core::Uid service = 0;
    users_.resolve(service, names,
                   [this, asked = settings_, found = std::move(found)](const auto& answer) {
                       // If there are newer settings, their names count.
                       if (asked == settings_) {
                           isAsking_ = false;
                           learn(answer);
                       }
                       found(answer);
                   });
}

void ConfiguredNames::learn(const core::ResolvedNames& found) {
    const bool isComplete = found.users.unanswered.empty() && found.groups.unanswered.empty();
    const bool allExist = found.users.nobody.empty() && found.groups.nobody.empty();
    due_ = clock_.bootNow();
    if (isComplete)
        due_ += allExist ? keptFor : nobodyKeptFor;
    log(found);
}

void ConfiguredNames::log(const core::ResolvedNames& found) {
    std::vector<std::string> complaints;
    describe(found.users, "user", "User", complaints);
    describe(found.groups, "group", "Group", complaints);
    for (const std::string& complaint : complaints) {
        if (std::ranges::find(logged_, complaint) == logged_.end())
            log_.warning("{}", complaint);
    }
    logged_ = std::move(complaints);
}

} // namespace genv::service
