// SPDX-License-Identifier: LGPL-2.1-or-later
// remote: commands for many machines at once.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/remote/remote_commands.hpp"

#include <CLI/CLI.hpp>

#include <array>

namespace genv::ctl {

constexpr std::array remoteExamples{
    Example{"List the GPUs of three hosts", "genvctl remote -H gpu1,gpu2,gpu3 devices"},
    Example{"Run a program on the host with most free GPUs",
            "genvctl remote --hostfile hosts.txt run --gpus 2 -- python train.py"},
};

void addRemote(CLI::App& app, Context& context) {
    CLI::App* remote =
        addCommand(app, "remote", "Work on many machines over SSH", {.examples = remoteExamples});
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
