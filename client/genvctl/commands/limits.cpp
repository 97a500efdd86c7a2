// SPDX-License-Identifier: LGPL-2.1-or-later
// limits: what a user may have and has, for everybody.
#include "client/genvctl/limits.hpp"

#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/listing_options.hpp"
#include "client/genvctl/commands/option_values.hpp"
#include "client/genvctl/context.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <memory>

namespace genv::ctl {

namespace {

void limits(Context& context, const ListingOptions& options, const std::string& user) {
    const std::uint32_t uid = user.empty() ? context.uid() : context.uidOf(user);
    const auto limits = context.client().limits(uid);
    if (!context.printJson({{"uid", uid}, {"limits", limitsJson(limits)}}))
        options.print(context, limitsTable(limits));
}

} // namespace

void addLimits(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("limits", "Show what you or a user may have and has");
    const auto options = std::make_shared<ListingOptions>();
    const auto user = std::make_shared<std::string>();
    options->addFormatTo(*command);
    command->add_option("USER", *user, "The user, by name or uid (you)")->type_name("");
    command->callback([&context, options, user] {
        context.command = [&context, options, user] { limits(context, *options, *user); };
    });
}

} // namespace genv::ctl
