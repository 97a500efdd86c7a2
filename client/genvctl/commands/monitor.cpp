// SPDX-License-Identifier: LGPL-2.1-or-later
// monitor: serves metrics to Prometheus. The exporter is a program of its own, with a web server in
// it, that takes the place of genvctl in the same process.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

namespace genv::ctl {

namespace {

constexpr unsigned highestPort = 65535;
constexpr unsigned longestInterval = 3600;

struct MonitorOptions {
    unsigned port = 8000;
    std::string address = "127.0.0.1";
    std::string configFolder;
    unsigned interval = 10;
    bool noProcesses = false;
    bool noUsers = false;
};

// Beside this program, where it is built, or where it is installed.
std::filesystem::path exporter() {
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    if (auto beside = own.parent_path() / "genv-monitor"; access(beside.c_str(), X_OK) == 0)
        return beside;
    return GENV_MONITOR_PATH;
}

[[noreturn]] void execute(const MonitorOptions& options) {
    const std::filesystem::path program = exporter();
    std::vector<std::string> words{program, fmt::format("--port={}", options.port),
                                   "--listen=" + options.address,
                                   fmt::format("--interval={}", options.interval)};
    if (!options.configFolder.empty())
        words.push_back("--config-dir=" + options.configFolder);
    if (options.noProcesses)
        words.emplace_back("--no-process-metrics");
    if (options.noUsers)
        words.emplace_back("--no-user-metrics");
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    throw Failure(ExitStatus::Failed,
                  fmt::format("The exporter {} cannot be started: {}", program.native(),
                              std::strerror(errno)),
                  "It is a part of genv: install genv completely.");
}

} // namespace

void addMonitor(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("monitor", "Serve metrics to Prometheus");
    const auto options = std::make_shared<MonitorOptions>();
    command->add_option("-p,--port", options->port, "Listen there (8000); 0 is one that is free")
        ->check(CLI::Range(0U, highestPort).description(""))
        ->type_name("PORT");
    command->add_option("--listen", options->address, "On this IPv4 or IPv6 address (127.0.0.1)")
        ->type_name("ADDRESS");
    command
        ->add_option("--config-dir", options->configFolder,
                     "Where to write files for Prometheus and Grafana")
        ->type_name("FOLDER");
    command
        ->add_option("-i,--interval", options->interval,
                     "The oldest sample that is served, in seconds (10)")
        ->check(CLI::Range(1U, longestInterval).description(""))
        ->type_name("SECONDS");
    command->add_flag("--no-process-metrics", options->noProcesses,
                      "Leave out the series of single processes");
    command->add_flag("--no-user-metrics", options->noUsers,
                      "Leave out the series of single users");
    command->footer("Serves http://127.0.0.1:8000/metrics until Ctrl-C and says where it has "
                    "written the files,\n"
                    "by default below ~/.local/state/genv/metrics. As a service:\n"
                    "systemctl enable --now genv-monitor");
    command->callback([&context, options] { context.command = [options] { execute(*options); }; });
}

} // namespace genv::ctl
