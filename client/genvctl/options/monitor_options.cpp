// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/monitor_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/definition/definition.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <utility>

namespace genv::ctl {

namespace {

constexpr unsigned highestPort = 65535;
constexpr unsigned maxInterval = 3600;

// Returns a host in the form that readHost() parses.
std::string spelled(const remote::Host& host) {
    return host.user ? *host.user + "@" + host.label() : host.label();
}

void addHosts(std::vector<std::string>& words, const MonitoredHosts& hosts) {
    for (const remote::Host& host : hosts.hosts)
        words.push_back("--host=" + spelled(host));
    if (hosts.timeout)
        words.push_back(fmt::format("--timeout={}", hosts.timeout->count()));
    if (hosts.isQuiet)
        words.emplace_back("--quiet");
    if (hosts.endsWithOne)
        words.emplace_back("--exit-on-error");
}

} // namespace

void MonitorOptions::addTo(CLI::App& command) {
    addOption(command, "-p,--port", port, "Listen on PORT, or a free port with 0 [default: 14368]",
              {.values = ValueKind::Free})
        ->check(CLI::Range(0U, highestPort).description(""))
        ->type_name("PORT");
    addOption(command, "--listen", address, "Listen on this IP address [default: 127.0.0.1]",
              {.values = ValueKind::Free})
        ->type_name("ADDRESS");
    addOption(command, "--host-name", hostNames,
              "Answer requests to the host NAME, too; may be repeated", {.values = ValueKind::Free})
        ->type_name("NAME...")
        ->allow_extra_args(false);
    addOption(command, "--config-dir", configFolder, "Write Prometheus and Grafana files to FOLDER",
              {.values = ValueKind::File})
        ->type_name("FOLDER");
    addOption(command, "-i,--interval", interval,
              "Serve samples at most this old, in seconds [default: 10]",
              {.values = ValueKind::Free})
        ->check(CLI::Range(1U, maxInterval).description(""))
        ->type_name("SECONDS");
    command.add_flag("--no-process-metrics", noProcesses, "Omit metrics about single processes");
    command.add_flag("--no-user-metrics", noUsers, "Omit metrics about single users");
}

void becomeExporter(const MonitorOptions& options, const MonitoredHosts& hosts) {
    if constexpr (!GENV_WITH_MONITOR)
        throw Failure(ExitStatus::Failed, "this build of genv has no exporter (genv-monitor)",
                      "Build genv with -DGENV_WITH_MONITOR=ON.");
    std::vector<std::string> words{fmt::format("--port={}", options.port),
                                   "--listen=" + options.address,
                                   fmt::format("--interval={}", options.interval)};
    for (const std::string& name : options.hostNames)
        words.push_back("--host-name=" + name);
    if (!options.configFolder.empty())
        words.push_back("--config-dir=" + options.configFolder);
    if (options.noProcesses)
        words.emplace_back("--no-process-metrics");
    if (options.noUsers)
        words.emplace_back("--no-user-metrics");
    addHosts(words, hosts);
    becomeSibling({"genv-monitor", GENV_MONITOR_PATH, "The exporter", "genv-monitor"},
                  std::move(words));
}

} // namespace genv::ctl
