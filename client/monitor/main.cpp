// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-monitor: serves what the service says in Prometheus' form, this machine's or those of other
// hosts over SSH. Whoever starts it, it answers the network as an unprivileged user; the threads of
// the web server see finished samples only, and one thread talks to each machine.
#include "client/monitor/config_files.hpp"
#include "client/monitor/exchange.hpp"
#include "client/monitor/hosts.hpp"
#include "client/monitor/metrics.hpp"
#include "client/monitor/options.hpp"
#include "client/monitor/server.hpp"
#include "client/monitor/watch.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "core/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <prometheus/text_serializer.h>
#include <pwd.h>
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

// Below the 10 s that Prometheus waits by default; a call to the service ends before.
constexpr std::chrono::seconds scrapePatience{6};
constexpr const char* callPatience = "5s";
// Of a host's time a call may take so much; the rest shows whether it is the service or the host.
constexpr int callTenths = 6;

std::string toText(const std::vector<prometheus::MetricFamily>& metrics) {
    return prometheus::TextSerializer().Serialize(metrics);
}

Time now() {
    return std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
}

// Of the standard descriptors, one that is closed would be taken by a socket, and a message go
// there.
void guardStandardDescriptors() {
    int descriptor = 0;
    do {
        descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor > STDERR_FILENO)
        close(descriptor);
}

// Where this machine reaches what listens on every address.
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
    // Before there are other threads, which so have them blocked, too.
    if (descriptor < 0 || sigprocmask(SIG_BLOCK, &signals, nullptr) < 0)
        throw std::system_error(errno, std::generic_category(), "signals");
    return descriptor;
}

// Reading is free for everybody, so nothing here needs root.
void leaveRoot() {
    if (geteuid() != 0)
        return;
    const passwd* nobody = getpwnam("nobody");
    if (nobody == nullptr || setgroups(0, nullptr) < 0 || setgid(nobody->pw_gid) < 0 ||
        setuid(nobody->pw_uid) < 0)
        throw std::runtime_error(fmt::format("root cannot become the user nobody ({}); start it "
                                             "as another user",
                                             std::strerror(errno)));
}

// As systemd tells the main process of a unit. Whoever reads what that prints is not the unit's
// user.
bool isUnit() {
    const char* main = std::getenv("SYSTEMD_EXEC_PID");
    return main != nullptr && main == std::to_string(getpid());
}

void announce(const Options& options, const std::string& target) {
    fmt::print("Metrics:     http://{}/metrics\n", target);
    if (isUnit()) {
        fmt::print("Prometheus:  scrape {0}; alert rules are in "
                   "{1}/genv/prometheus/genv.rules.yml\n"
                   "Grafana:     import {1}/genv/grafana/genv-overview.json\n",
                   target, GENV_DATA_FOLDER);
    } else {
        const auto word = [&](const char* option, const char* file) {
            return option + remote::quotedForShell((options.configFolder / file).native());
        };
        // Without a folder for its data, Prometheus takes the one it is started in; without an
        // address, it answers the network. Grafana looks for it at this one.
        fmt::print("Prometheus:  prometheus {} {} --web.listen-address=127.0.0.1:9090\n"
                   "Grafana:     grafana server --homepath=/usr/share/grafana {}\n",
                   word("--config.file=", "prometheus/prometheus.yml"),
                   word("--storage.tsdb.path=", "prometheus/data"),
                   word("--config=", "grafana/grafana.ini"));
    }
    std::fflush(stdout);
    sd_notify(0, "READY=1");
}

// Answers scrapes with a text while something works.
void serve(const Options& options, const Server::Scrape& scrape,
           const std::function<void()>& work) {
    Server server(options.address, options.port);
    const std::string target = endpoint(reachable(options.address), server.port());
    writeConfigFiles(options.configFolder, target, options.interval);
    leaveRoot();
    server.start(scrape);
    announce(options, target);
    work();
}

void serveThisMachine(const Options& options, int stop) {
    setenv("SYSTEMD_BUS_TIMEOUT", callPatience, 0);
    // A scrape that comes every interval is to find the sample before it too old.
    Exchange exchange(std::chrono::nanoseconds(options.interval) * 9 / 10);
    const auto scrape = [&] {
        const Served served =
            exchange.get(exchange.request(), std::chrono::steady_clock::now() + scrapePatience);
        return toText(collectMetrics(served, scrapePatience, now(), options.selection));
    };
    serve(options, scrape, [&] {
        LocalWatch(exchange, stop).run();
        Sample last; // no scrape waits any more
        last.begun = std::chrono::steady_clock::now();
        exchange.publish(std::move(last));
    });
}

// Prometheus waits for a scrape no longer than its interval, whatever a host does meanwhile.
std::chrono::milliseconds patienceOf(std::chrono::seconds interval) {
    return std::min<std::chrono::milliseconds>(scrapePatience,
                                               std::chrono::milliseconds(interval) * 8 / 10);
}

void serveHosts(const Options& options, int stop) {
    if (geteuid() == 0)
        throw std::runtime_error(
            "what answers the network is not to be root, and the user nobody has no key for other "
            "hosts; start it as a user whose key they accept (in a unit: User=)");
    const auto call = std::chrono::microseconds(options.timeout) * callTenths / 10;
    setenv("SYSTEMD_BUS_TIMEOUT", fmt::format("{}us", call.count()).c_str(), 1);
    Hosts hosts(options.hosts,
                {options.timeout, options.interval, options.isQuiet, options.endsWithOne});
    const auto scrape = [&] {
        const auto patience = patienceOf(options.interval);
        return toText(collectMetrics(hosts.get(std::chrono::steady_clock::now() + patience), now(),
                                     options.selection));
    };
    serve(options, scrape, [&] { hosts.run(stop); });
}

void run(const Options& options) {
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
    guardStandardDescriptors();
    try {
        const Options options = parseOptions(count, arguments);
        if (!options.isAboutItself)
            run(options);
        return EXIT_SUCCESS;
    } catch (const UsageError& error) {
        fmt::print(stderr, "genv-monitor: {}\n", error.what());
        return 2;
    } catch (const HostEnded& error) {
        fmt::print(stderr, "genv-monitor: {}\n", error.what());
        return 6; // as genvctl where a host cannot be reached
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-monitor: {}\n", genv::core::printable(error.what()));
        return EXIT_FAILURE;
    }
}
