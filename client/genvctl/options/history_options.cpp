// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/history_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void HistoryOptions::addTo(CLI::App& command, const std::string& sinceWithout) {
    addOption(command, "--since", since, "Start at WHEN [default: " + sinceWithout + "]",
              {.values = OneOf{"today", "yesterday", "-1h", "-7d"}})
        ->type_name("WHEN");
    addOption(command, "--until", until, "Stop at WHEN [default: now]",
              {.values = OneOf{"today", "yesterday", "now"}})
        ->type_name("WHEN");
    CLI::Option* everybody = command.add_flag("--all", all, "Include all users [default for root]");
    addOption(command, "--user", user, "Include only USER, by name or uid [default: you]",
              {.values = ValueKind::User})
        ->type_name("USER")
        ->excludes(everybody);
}

HistoryQuery HistoryOptions::query(Context& context, Time sinceWithout) const {
    HistoryQuery query;
    query.setSince(since.empty() ? sinceWithout : readMoment("--since", since));
    if (!until.empty())
        query.setUntil(readMoment("--until", until));
    if (query.since() > query.until().value_or(currentTime()))
        throw Failure(ExitStatus::Usage,
                      "invalid period: --since is later than --until or than now");
    if (!user.empty())
        query.setUid(context.uidOf(user));
    query.setEverybody(all || (user.empty() && context.uid() == 0));
    return query;
}

} // namespace genv::ctl
