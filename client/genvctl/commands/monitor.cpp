// SPDX-License-Identifier: LGPL-2.1-or-later
// monitor: serves metrics to Prometheus.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/monitor_options.hpp"
#include "client/genvctl/remote/remote_hosts.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <memory>

namespace genv::ctl {

constexpr std::array monitorExamples{
    Example{"Serve metrics on another port", "genvctl monitor --port 9400"},
    Example{"Write the Prometheus and Grafana files elsewhere",
            "genvctl monitor --config-dir ~/metrics"},
};

void addMonitor(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "monitor", "Serve metrics to Prometheus",
                   {.onCluster = cluster::aboutThisMachine(
                        "Run it on each node, or \"genvctl remote monitor\" for all of them."),
                    .examples = monitorExamples});
    const auto options = std::make_shared<MonitorOptions>();
    options->addTo(*command);
    command->footer(
        "Serves http://127.0.0.1:14368/metrics until Ctrl-C, and prints where the files\n"
        "are, by default ~/.local/state/genv/metrics. To run it as a service:\n"
        "systemctl enable --now genv-monitor");
    command->callback([&context, options] {
        context.command = [&context, options] {
            MonitoredHosts hosts;
            if (context.options.host)
                hosts.hosts = HostOptions{}.list(context.options.host);
            becomeExporter(*options, hosts);
        };
    });
}

} // namespace genv::ctl
