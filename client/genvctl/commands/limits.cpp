// SPDX-License-Identifier: LGPL-2.1-or-later
// limits: the limits of one user or of all users, and the used part of each.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/reports/limit_tables.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <tuple>

namespace genv::ctl {

namespace {

void limits(Context& context, const ListingOptions& options, const std::string& user) {
    const std::uint32_t uid = user.empty() ? context.uid() : context.uidOf(user);
    const auto limits = context.client().limits(uid);
    if (!printJson(context.options, {{"uid", uid}, {"limits", limitsJson(limits)}}))
        options.print(context.options, limitsTable(limits, options.format != "csv"));
}

// Returns the users who hold something, and the users with limits of their own.
std::map<std::uint32_t, std::string> findUsers(Context& context) {
    std::map<std::uint32_t, std::string> users;
    std::set<std::string> names;
    for (const EnvironmentEntry& entry : context.client().environments()) {
        users.emplace(entry.uid, entry.user);
        names.insert(entry.user);
    }
    for (const std::string& name : context.client().limitedUsers()) {
        if (names.contains(name))
            continue;
        try {
            users.emplace(context.uidOf(name), name);
        } catch (const Failure& failure) {
            warn(fmt::format("[User {}] in genvd.conf is left out: {}", name, failure.what()),
                 failure.hint());
        }
    }
    return users;
}

void allLimits(Context& context, const ListingOptions& options) {
    std::vector<UserLimitUse> users;
    for (const auto& [uid, name] : findUsers(context))
        users.push_back({name, uid, context.client().limits(uid)});
    std::sort(users.begin(), users.end(), [](const UserLimitUse& a, const UserLimitUse& b) {
        return std::tie(a.user, a.uid) < std::tie(b.user, b.uid);
    });
    if (printJson(context.options, allLimitsJson(users)))
        return;
    const auto width = context.options.full ? std::nullopt : terminalWidth();
    options.print(context.options,
                  options.format == "csv" ? allLimitsNumbers(users) : allLimitsTable(users, width));
}

} // namespace

constexpr std::array limitsExamples{
    Example{"Show your limits and usage", "genvctl limits"},
    Example{"Show the limits and usage of alice", "genvctl limits alice"},
    Example{"Show a row for each user", "genvctl limits --all"},
};

void addLimits(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(
        app, "limits", "Show the limits and the usage of a user",
        {.onCluster = cluster::aboutThisMachine(
             "\"sacctmgr show assoc\" and \"scontrol show partition\" show Slurm's limits."),
         .examples = limitsExamples});
    const auto options = std::make_shared<ListingOptions>();
    const auto user = std::make_shared<std::string>();
    options->addFormatTo(*command);
    const auto all = std::make_shared<bool>(false);
    CLI::Option* one =
        addOption(*command, "USER", *user, "Show this user, by name or uid [default: you]",
                  {.values = ValueKind::User})
            ->type_name("");
    command->add_flag("--all", *all, "Show one row per user, as used/allowed")->excludes(one);
    command->callback([&context, options, user, all] {
        context.command = [&context, options, user, all] {
            if (*all)
                allLimits(context, *options);
            else
                limits(context, *options, *user);
        };
    });
}

} // namespace genv::ctl
