// SPDX-License-Identifier: LGPL-2.1-or-later
// remote monitor: one exporter for many machines.
#include "client/genvctl/options/monitor_options.hpp"
#include "client/genvctl/remote/remote_commands.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

void addRemoteMonitor(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* command =
        remote.add_subcommand("monitor", "Serve metrics of all hosts to Prometheus");
    const auto options = std::make_shared<MonitorOptions>();
    options->addTo(*command);
    command->footer("Serves http://127.0.0.1:14368/metrics until Ctrl-C, with the label hostname.\n"
                    "A host that is down has genv_host_up 0. A host without genv has\n"
                    "genv_is_installed 0 and the metrics that its nvidia-smi reports. The command\n"
                    "does not run as root, since SSH keys belong to a user.");
    command->callback([&context, options, hosts] {
        context.command = [&context, options, hosts] {
            MonitoredHosts monitored{hosts->list(context.options.host), std::nullopt, hosts->quiet,
                                     hosts->exitOnError};
            monitored.timeout = hosts->deadline();
            becomeExporter(*options, monitored);
        };
    });
}

} // namespace genv::ctl
