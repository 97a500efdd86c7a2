// SPDX-License-Identifier: LGPL-2.1-or-later
// remote monitor: one exporter for many machines.
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/monitor_options.hpp"
#include "client/genvctl/remote/remote_commands.hpp"

#include <CLI/CLI.hpp>

#include <array>

namespace genv::ctl {

constexpr std::array remoteMonitorExamples{
    Example{"Serve metrics of two hosts", "genvctl remote -H gpu1,gpu2 monitor"},
};

void addRemoteMonitor(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* command = addCommand(remote, "monitor", "Serve metrics of all hosts to Prometheus",
                                   {.examples = remoteMonitorExamples});
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
