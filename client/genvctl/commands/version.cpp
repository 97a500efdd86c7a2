// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace genv::ctl {

void addVersion(CLI::App& app, Context& context) {
    app.add_subcommand("version", "Print the version")->callback([&context] {
        context.command = [&context] {
            const std::string number =
                context.options.host ? context.client().status().version : GENV_VERSION;
            if (!printJson(context.options, {{"version", number}}))
                print(fmt::format("genv {}\n", shown(number)));
        };
    });
}

} // namespace genv::ctl
