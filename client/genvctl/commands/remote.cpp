// SPDX-License-Identifier: LGPL-2.1-or-later
// remote: commands for many machines at once.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/remote/remote_commands.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void addRemote(CLI::App& app, Context& context) {
    CLI::App* remote = app.add_subcommand("remote", "Work on many machines over SSH");
    const auto hosts = std::make_shared<HostOptions>();
    hosts->addTo(*remote);
    remote->require_subcommand(1);
    addRemoteListings(*remote, context, hosts);
    addRemoteRun(*remote, context, hosts);
    addRemoteEnforce(*remote, context, hosts);
    addRemoteMonitor(*remote, context, hosts);
    remote->footer("Hosts that are down, slow or without genv are reported on standard error and\n"
                   "do not delay the others. Keys, ports and jump hosts come from ~/.ssh/config;\n"
                   "the command never asks for a password.");
}

} // namespace genv::ctl
