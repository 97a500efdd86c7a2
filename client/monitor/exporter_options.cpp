// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/exporter_options.hpp"

#include "client/monitor/host_names.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/user_database.hpp"

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

namespace genv::monitor {

namespace {

template <typename Number>
Number number(const char* option, const std::string& text, Number least, Number max) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || last != end || value < least || value > max)
        core::refuseValue(option, text, fmt::format("{}-{}", least, max));
    return value;
}

std::string address(std::string text) {
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        text = text.substr(1, text.size() - 2);
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    if (inet_pton(AF_INET, text.c_str(), parsed.data()) != 1 &&
        inet_pton(AF_INET6, text.c_str(), parsed.data()) != 1)
        core::refuseValue("--listen", text, "an IPv4 or IPv6 address, such as 127.0.0.1 or ::1");
    return text;
}

void addNames(std::vector<std::string>& names, const std::vector<std::string>& added) {
    for (const std::string& name : added) {
        if (!isHostName(name))
            core::refuseValue("--host-name", name,
                              "a host name without a port, such as gpu1.example.org");
        names.push_back(name);
    }
}

// Returns an absolute path from the environment. systemd separates several paths by colons.
std::optional<std::filesystem::path> pathIn(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value != '/')
        return std::nullopt;
    const std::string_view text = value;
    return text.substr(0, text.find(':'));
}

std::filesystem::path defaultFolder() {
    if (auto state = pathIn("STATE_DIRECTORY"))
        return *state;
    if (auto state = pathIn("XDG_STATE_HOME"))
        return *state / "genv/metrics";
    auto home = pathIn("HOME");
    if (!home) {
        if (const auto user = core::shownUser(geteuid()))
            home = user->home;
    }
    if (!home)
        throw core::UsageError("you have no home folder", "Name a folder with --config-dir.");
    return *home / ".local/state/genv/metrics";
}

// Each host needs a thread and an ssh process.
constexpr std::size_t maxHosts = 128;
constexpr int maxTimeout = 600'000;

void addHost(std::vector<remote::Host>& hosts, const std::string& text) {
    try {
        remote::Host host = remote::readHost(text);
        const std::string label = host.label();
        for (const remote::Host& other : hosts) {
            if (other.label() == label)
                throw CLI::ValidationError(fmt::format("--host: \"{}\" is named twice", label));
        }
        hosts.push_back(std::move(host));
    } catch (const remote::InvalidHost& error) {
        throw CLI::ValidationError(fmt::format("--host: {}", error.what()));
    }
    if (hosts.size() > maxHosts)
        throw core::UsageError(
            fmt::format("too many hosts for --host: expected {} at most", maxHosts),
            "Start another exporter for the rest.");
}

void define(CLI::App& app, ExporterOptions& options) {
    // The last value counts.
    const auto add = [&](const char* names, const char* type, const char* text, auto take) {
        app.add_option_function<std::string>(names, take, text)
            ->type_name(type)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    };
    const auto flag = [&](const char* name, const char* text, auto take) {
        app.add_flag_callback(name, take, text)->disable_flag_override();
    };
    add("-p,--port", "PORT", "Listen on PORT, or a free port with 0 [default: 14368]",
        [&](const std::string& text) {
            options.port = number<std::uint16_t>("--port", text, 0, 65535);
        });
    add("--listen", "ADDRESS", "Listen on this IP address [default: 127.0.0.1]",
        [&](const std::string& text) { options.address = address(text); });
    app.add_option_function<std::vector<std::string>>(
           "--host-name",
           [&](const std::vector<std::string>& names) { addNames(options.hostNames, names); },
           "Answer requests to the host NAME, too; may be repeated")
        ->type_name("NAME...")
        ->allow_extra_args(false);
    add("--config-dir", "FOLDER", "Write Prometheus and Grafana files to FOLDER",
        [&](const std::string& text) {
            options.configFolder = std::filesystem::absolute(text).lexically_normal();
        });
    add("-i,--interval", "SECONDS", "Serve samples at most this old, in seconds [default: 10]",
        [&](const std::string& text) {
            options.interval = std::chrono::seconds(number("--interval", text, 1, 3600));
        });
    flag("--no-process-metrics", "Omit metrics about single processes",
         [&] { options.selection.processes = false; });
    flag("--no-user-metrics", "Omit metrics about single users",
         [&] { options.selection.users = false; });
    app.add_option_function<std::vector<std::string>>(
           "--host",
           [&](const std::vector<std::string>& hosts) {
               for (const std::string& host : hosts)
                   addHost(options.hosts, host);
           },
           "Serve metrics of HOST over SSH; may be repeated")
        ->type_name("[USER@]HOST[:PORT]...")
        ->allow_extra_args(false);
    add("--timeout", "MS", "Wait MS milliseconds for a host [default: 5000]",
        [&](const std::string& text) {
            options.timeout = std::chrono::milliseconds(number("--timeout", text, 1, maxTimeout));
        });
    flag("--quiet", "Do not report hosts that are down", [&] { options.isQuiet = true; });
    flag("--exit-on-error", "Exit when a host is down", [&] { options.endsWithOne = true; });
    app.set_version_flag("--version", "genv-monitor " GENV_VERSION, "Print the version");
    app.footer("Exit status:\n  0  Success\n  1  Failure\n  2  Usage error\n  6  A host is down, "
               "with --exit-on-error\n\n"
               "Examples:\n  # Serve metrics on another port\n  genv-monitor --port 9400\n"
               "  # Serve metrics of two hosts\n  genv-monitor --host gpu1 --host gpu2");
}

} // namespace

ExporterOptions parseOptions(int count, char** arguments) {
    ExporterOptions options;
    CLI::App app("Serve metrics of genv to Prometheus under /metrics", "genv-monitor");
    app.formatter(core::helpFormatter());
    app.set_help_flag("-h,--help", "Print this help");
    define(app, options);
    if (const auto text = core::parseCommandLine(app, count, arguments)) {
        fmt::print("{}", *text);
        options.isAboutItself = true;
    }
    if (options.configFolder.empty() && !options.isAboutItself)
        options.configFolder = defaultFolder();
    return options;
}

} // namespace genv::monitor
