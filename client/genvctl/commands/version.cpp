// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>

namespace genv::ctl {

constexpr std::array versionExamples{
    Example{"Print the version of another machine's service", "genvctl -H gpu1 version"},
};

void addVersion(CLI::App& app, Context& context) {
    addCommand(app, "version", "Print the version", {.examples = versionExamples})
        ->callback([&context] {
            context.command = [&context] {
                const std::string number =
                    context.options.host ? context.client().status().version : GENV_VERSION;
                if (!printJson(context.options, {{"version", number}}))
                    print(fmt::format("genv {}\n", shown(number)));
            };
        });
}

} // namespace genv::ctl
