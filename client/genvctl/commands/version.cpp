// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/terminal.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void addVersion(CLI::App& app, Context& context) {
    constexpr const char* version = "genv " GENV_VERSION;
    app.set_version_flag("--version", version, "Print the version");
    app.add_subcommand("version", "Print the version")->callback([&context] {
        context.command = [&context] {
            if (!context.printJson({{"version", GENV_VERSION}}))
                print(std::string(version) + '\n');
        };
    });
}

} // namespace genv::ctl
