// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-monitor: serves what the service says in Prometheus' form. Whoever starts it, it answers the
// network as an unprivileged user; the threads of the web server see finished samples only, and one
// thread talks to the service.
#include "client/monitor/config_files.hpp"
#include "client/monitor/exchange.hpp"
#include "client/monitor/metrics.hpp"
#include "client/monitor/options.hpp"
#include "client/monitor/server.hpp"
#include "client/monitor/watch.hpp"
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

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace genv::monitor {

namespace {

// Below the 10 s that Prometheus waits by default; a call to the service ends before.
constexpr std::chrono::seconds scrapePatience{6};
constexpr const char* callPatience = "5s";

// What the web server asks for at each scrape.
std::string scrape(Exchange& exchange, const Selection& selection) {
    const Exchange::Served served = exchange.get();
    const ServiceState* state =
        served.sample && served.sample->state ? &*served.sample->state : nullptr;
    const auto now = std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
    return prometheus::TextSerializer().Serialize(
        collectMetrics(state, served.sample ? served.sample->took : scrapePatience, served.counters,
                       now, selection));
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

void announce(const Options& options, const std::string& target) {
    const std::string folder = core::printable(options.configFolder.native());
    fmt::print("Metrics:     http://{0}/metrics\n"
               "Prometheus:  prometheus --config.file={1}/prometheus/prometheus.yml\n"
               "Grafana:     grafana server --config={1}/grafana/grafana.ini\n",
               target, folder);
    std::fflush(stdout);
    sd_notify(0, "READY=1");
}

void run(const Options& options) {
    umask(077);
    setenv("SYSTEMD_BUS_TIMEOUT", callPatience, 0);
    const int stop = stopSignals();
    // A scrape that comes every interval is to find the sample before it too old.
    Exchange exchange(std::chrono::nanoseconds(options.interval) * 9 / 10, scrapePatience);
    Server server(options.address, options.port);
    const std::string target = endpoint(reachable(options.address), server.port());
    writeConfigFiles(options.configFolder, target, options.interval);
    leaveRoot();
    server.start([&] { return scrape(exchange, options.selection); });
    announce(options, target);
    Watch(exchange, stop).run();
    Sample last; // no scrape waits any more
    last.begun = std::chrono::steady_clock::now();
    exchange.publish(std::move(last));
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
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-monitor: {}\n", genv::core::printable(error.what()));
        return EXIT_FAILURE;
    }
}
