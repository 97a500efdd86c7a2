// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/options.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <getopt.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace genv::monitor {

namespace {

constexpr const char* help = R"(Usage: genv-monitor [OPTION]...
Serves the metrics of genv to Prometheus under /metrics.

  -p, --port=PORT          listen there; 0 is one that is free (14368)
      --listen=ADDRESS     on this IPv4 or IPv6 address (127.0.0.1)
      --config-dir=FOLDER  write the files for Prometheus and Grafana there
  -i, --interval=SECONDS   the oldest sample that is served (10)
      --no-process-metrics leave out the series of single processes
      --no-user-metrics    leave out the series of single users
      --host=HOST          serve those of [user@]host[:port], over SSH, instead
                           of this machine's; again for each further one
      --timeout=MS         how long a host may take, in milliseconds (5000)
      --quiet              do not tell of hosts that are down
      --exit-on-error      a host that is down ends it
  -h, --help
      --version
See genvctl(1), "genvctl monitor".
)";

template <typename Number>
Number number(const char* option, const char* text, Number least, Number most) {
    Number value{};
    const char* end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, value);
    if (error != std::errc{} || last != end || value < least || value > most)
        throw UsageError(
            fmt::format("--{}: it is a whole number from {} to {}", option, least, most));
    return value;
}

std::string address(std::string text) {
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        text = text.substr(1, text.size() - 2);
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    if (inet_pton(AF_INET, text.c_str(), parsed.data()) != 1 &&
        inet_pton(AF_INET6, text.c_str(), parsed.data()) != 1)
        throw UsageError("--listen: it is an IPv4 or IPv6 address, such as 127.0.0.1 or ::1");
    return text;
}

// An absolute path in the environment; systemd separates several by colons.
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
        if (const passwd* user = getpwuid(geteuid()))
            home = user->pw_dir;
    }
    if (!home)
        throw UsageError("you have no home folder; name a folder with --config-dir");
    return *home / ".local/state/genv/metrics";
}

// Each takes a thread and an ssh.
constexpr std::size_t mostHosts = 128;
constexpr int longestTimeout = 600'000;

void addHost(std::vector<remote::Host>& hosts, const char* text) {
    try {
        remote::Host host = remote::readHost(text);
        const std::string label = host.label();
        for (const remote::Host& other : hosts) {
            if (other.label() == label)
                throw UsageError(
                    fmt::format("--host: there are two hosts \"{}\"; name one of them", label));
        }
        hosts.push_back(std::move(host));
    } catch (const remote::InvalidHost& error) {
        throw UsageError(fmt::format("--host: {}", error.what()));
    }
    if (hosts.size() > mostHosts)
        throw UsageError(fmt::format(
            "--host: an exporter takes {} hosts; start another one for the rest", mostHosts));
}

enum LongOption : int {
    Listen = 256,
    ConfigDir,
    NoProcesses,
    NoUsers,
    Host,
    Timeout,
    Quiet,
    ExitOnError,
    Version
};

void apply(int option, Options& options) {
    switch (option) {
    case 'p':
        options.port = number<std::uint16_t>("port", optarg, 0, 65535);
        break;
    case 'i':
        options.interval = std::chrono::seconds(number("interval", optarg, 1, 3600));
        break;
    case Listen:
        options.address = address(optarg);
        break;
    case ConfigDir:
        options.configFolder = std::filesystem::absolute(optarg).lexically_normal();
        break;
    case NoProcesses:
        options.selection.processes = false;
        break;
    case NoUsers:
        options.selection.users = false;
        break;
    case Host:
        addHost(options.hosts, optarg);
        break;
    case Timeout:
        options.timeout = std::chrono::milliseconds(number("timeout", optarg, 1, longestTimeout));
        break;
    case Quiet:
        options.isQuiet = true;
        break;
    case ExitOnError:
        options.endsWithOne = true;
        break;
    case 'h':
        fmt::print("{}", help);
        options.isAboutItself = true;
        break;
    case Version:
        fmt::print("genv-monitor {}\n", GENV_VERSION);
        options.isAboutItself = true;
        break;
    default:
        throw UsageError("\"genv-monitor --help\" tells what it takes");
    }
}

} // namespace

Options parseOptions(int count, char** arguments) {
    static const std::array<option, 13> longOptions{{
        {"port", required_argument, nullptr, 'p'},
        {"listen", required_argument, nullptr, Listen},
        {"config-dir", required_argument, nullptr, ConfigDir},
        {"interval", required_argument, nullptr, 'i'},
        {"no-process-metrics", no_argument, nullptr, NoProcesses},
        {"no-user-metrics", no_argument, nullptr, NoUsers},
        {"host", required_argument, nullptr, Host},
        {"timeout", required_argument, nullptr, Timeout},
        {"quiet", no_argument, nullptr, Quiet},
        {"exit-on-error", no_argument, nullptr, ExitOnError},
        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, Version},
        {nullptr, 0, nullptr, 0},
    }};
    Options options;
    for (int found = 0;
         !options.isAboutItself &&
         (found = getopt_long(count, arguments, "p:i:h", longOptions.data(), nullptr)) != -1;)
        apply(found, options);
    if (optind < count)
        throw UsageError("it takes no arguments; \"genv-monitor --help\" tells what it takes");
    if (options.configFolder.empty() && !options.isAboutItself)
        options.configFolder = defaultFolder();
    return options;
}

} // namespace genv::monitor
