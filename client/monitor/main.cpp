// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-monitor: exports the state of the service in Prometheus' format, for this machine or for
// other hosts over SSH. It always answers the network as an unprivileged user. The threads of the
// web server see only finished samples, and one thread talks to each machine.
#include "client/descriptor_functions.hpp"
#include "client/monitor/config_files.hpp"
#include "client/monitor/exchange.hpp"
#include "client/monitor/exporter_hosts.hpp"
#include "client/monitor/exporter_options.hpp"
#include "client/monitor/metrics.hpp"
#include "client/monitor/server.hpp"
#include "client/monitor/service_watch.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/text.hpp"
#include "core/base/user_database.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <prometheus/text_serializer.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <system_error>

namespace genv::monitor {

namespace {

// Less than Prometheus' default timeout of 10 s, and more than the timeout of a call to the
// service.
constexpr std::chrono::seconds scrapeTimeout{6};
constexpr const char* callTimeout = "5s";
// The share of a host's timeout for a call. The rest is used to find out whether the service or the
// host failed.
constexpr int callTenths = 6;

std::string toText(const std::vector<prometheus::MetricFamily>& metrics) {
    return prometheus::TextSerializer().Serialize(metrics);
}

Time now() {
    return std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
}

// Returns the address at which this machine reaches a server that listens on all addresses.
std::string reachable(const std::string& address) {
    if (address == "0.0.0.0")
        return "127.0.0.1";
    return address == "::" ? "::1" : address;
}

int stopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&signals, signal);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    // Before other threads exist, so that they inherit the blocked signals.
    if (descriptor < 0 || sigprocmask(SIG_BLOCK, &signals, nullptr) < 0)
        throw std::system_error(errno, std::generic_category(), "signals");
    return descriptor;
}

// Reading is allowed for every user, so nothing here needs root.
void leaveRoot() {
    if (geteuid() != 0)
        return;
    const auto nobody = core::userNamed("nobody");
    if (!nobody || setgroups(0, nullptr) < 0 || setgid(nobody->gid) < 0 || setuid(nobody->uid) < 0)
        throw std::runtime_error(fmt::format(
            "cannot switch from root to the user nobody ({}); start genv-monitor as another user",
            std::strerror(errno)));
}

// Whether this is the main process of a systemd unit. The reader of its output is then not the user
// of the unit.
bool isUnit() {
    const char* main = std::getenv("SYSTEMD_EXEC_PID");
    return main != nullptr && main == std::to_string(getpid());
}

void announce(const ExporterOptions& options, const std::string& target) {
    if (isUnit()) { // whose journal has events, and no advice
        fmt::print("Serving metrics at http://{}/metrics\n", target);
    } else {
        fmt::print("Metrics:     http://{}/metrics\n", target);
        const auto word = [&](const char* option, const char* file) {
            return option + remote::quotedForShell((options.configFolder / file).native());
        };
        // Without a data folder, Prometheus uses its working folder. Without an address, it listens
        // on the network, on the port of Cockpit and of Debian's Prometheus. Grafana expects it at
        // this address.
        fmt::print("Prometheus:  prometheus {} {} --web.listen-address=127.0.0.1:14390\n"
                   "Grafana:     grafana server --homepath=/usr/share/grafana {}\n",
                   word("--config.file=", "prometheus/prometheus.yml"),
                   word("--storage.tsdb.path=", "prometheus/data"),
                   word("--config=", "grafana/grafana.ini"));
    }
    std::fflush(stdout);
    sd_notify(0, "READY=1");
}

// Answers scrapes with the text of `scrape` while `work` runs.
void serve(const ExporterOptions& options, const Server::Scrape& scrape,
           const std::function<void()>& work) {
    Server server(options.address, options.port);
    const std::string target = endpoint(reachable(options.address), server.port());
    writeConfigFiles(options.configFolder, target, options.interval);
    leaveRoot();
    server.start(scrape, options.hostNames);
    announce(options, target);
    work();
}

void serveThisMachine(const ExporterOptions& options, int stop) {
    setenv("SYSTEMD_BUS_TIMEOUT", callTimeout, 0);
    // A scrape after each interval must find that the sample before it is too old.
    Exchange exchange(std::chrono::nanoseconds(options.interval) * 9 / 10);
    const auto scrape = [&] {
        const Served served =
            exchange.get(exchange.request(), std::chrono::steady_clock::now() + scrapeTimeout);
        return toText(collectMetrics(served, scrapeTimeout, now(), options.selection));
    };
    serve(options, scrape, [&] {
        LocalWatch(exchange, stop).run();
        Sample last; // releases waiting scrapes
        last.begun = std::chrono::steady_clock::now();
        exchange.publish(std::move(last));
    });
}

// Prometheus waits for a scrape no longer than its interval, even if a host is slow.
std::chrono::milliseconds timeoutOf(std::chrono::seconds interval) {
    return std::min<std::chrono::milliseconds>(scrapeTimeout,
                                               std::chrono::milliseconds(interval) * 8 / 10);
}

void serveHosts(const ExporterOptions& options, int stop) {
    if (geteuid() == 0)
        throw std::runtime_error("refusing to run as root, because a network service should not, "
                                 "and the user nobody has no SSH key; start genv-monitor as a user "
                                 "whose key the hosts accept (in a unit: User=)");
    const auto call = std::chrono::microseconds(options.timeout) * callTenths / 10;
    setenv("SYSTEMD_BUS_TIMEOUT", fmt::format("{}us", call.count()).c_str(), 1);
    Hosts hosts(options.hosts,
                {options.timeout, options.interval, options.isQuiet, options.endsWithOne});
    const auto scrape = [&] {
        const auto timeout = timeoutOf(options.interval);
        return toText(collectMetrics(hosts.get(std::chrono::steady_clock::now() + timeout), now(),
                                     options.selection));
    };
    serve(options, scrape, [&] { hosts.run(stop); });
}

void run(const ExporterOptions& options) {
    umask(077);
    const int stop = stopSignals();
    if (options.hosts.empty())
        serveThisMachine(options, stop);
    else
        serveHosts(options, stop);
}

} // namespace

} // namespace genv::monitor

int main(int count, char** arguments) {
    using namespace genv::monitor;
    genv::client::openStandardDescriptors();
    try {
        const ExporterOptions options = parseOptions(count, arguments);
        if (!options.isAboutItself)
            run(options);
        return EXIT_SUCCESS;
    } catch (const genv::core::UsageError& error) {
        genv::core::complain("genv-monitor", error);
        return genv::core::usageStatus;
    } catch (const HostEnded& error) {
        fmt::print(stderr, "genv-monitor: {}\n", error.what());
        return 6; // the status of genvctl for a host that cannot be reached
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-monitor: {}\n", genv::core::printable(error.what()));
        return EXIT_FAILURE;
    }
}
