// SPDX-License-Identifier: LGPL-2.1-or-later
// limits: what a user may have and has, for everybody.
#include "client/genvctl/limits.hpp"

#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/listing_options.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace genv::ctl {

namespace {

std::uint32_t uidOf(const std::string& user) {
    if (user.empty())
        return geteuid();
    // A name may be all digits, so the user database comes first.
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer{};
    getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr)
        return found->pw_uid;
    if (const auto uid = parseNumber(user))
        return *uid;
    throw Failure(ExitStatus::Failed, fmt::format("There is no user \"{}\"", user),
                  "\"getent passwd\" lists the users.");
}

void limits(Context& context, const ListingOptions& options, const std::string& user) {
    const std::uint32_t uid = uidOf(user);
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
