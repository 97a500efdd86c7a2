// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-monitor: serves what the service says in Prometheus' form. Whoever starts it, it answers the
// network as an unprivileged user; the threads of the web server see finished samples only, and one
// thread talks to the service.
#include "client/monitor/config_files.hpp"
#include "client/monitor/exchange.hpp"
#include "client/monitor/metrics.hpp"
#include "client/monitor/options.hpp"
#include "client/monitor/printable.hpp"
#include "client/monitor/watch.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grp.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <pwd.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

namespace genv::monitor {

namespace {

// Below the 10 s that Prometheus waits by default; a call to the service ends before.
constexpr std::chrono::seconds scrapePatience{6};
constexpr const char* callPatience = "5s";

/// What the web server asks for each scrape.
class Scrapes : public prometheus::Collectable {
  public:
    Scrapes(Exchange& exchange, Selection selection) : exchange_(exchange), selection_(selection) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
        const Exchange::Served served = exchange_.get();
        const ServiceState* state =
            served.sample && served.sample->state ? &*served.sample->state : nullptr;
        const auto now =
            std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
        return collectMetrics(state, served.sample ? served.sample->took : scrapePatience,
                              served.counters, now, selection_);
    }

  private:
    Exchange& exchange_;
    Selection selection_;
};

std::string endpoint(const std::string& address, int port) {
    const bool isSix = address.find(':') != std::string::npos;
    return fmt::format(fmt::runtime(isSix ? "[{}]:{}" : "{}:{}"), address, port);
}

// Where this machine reaches what listens on every address.
std::string reachable(const std::string& address) {
    if (address == "0.0.0.0")
        return "127.0.0.1";
    return address == "::" ? "::1" : address;
}

// The web server says only that it could not listen.
std::string whyNotListening(const Options& options) {
    sockaddr_in four{};
    sockaddr_in6 six{};
    four.sin_family = AF_INET;
    six.sin6_family = AF_INET6;
    four.sin_port = six.sin6_port = htons(options.port);
    const bool isFour = inet_pton(AF_INET, options.address.c_str(), &four.sin_addr) == 1;
    if (!isFour)
        inet_pton(AF_INET6, options.address.c_str(), &six.sin6_addr);
    const auto* where = isFour ? static_cast<const void*>(&four) : &six;
    const int tried = socket(isFour ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = 0;
    if (tried < 0 ||
        bind(tried, static_cast<const sockaddr*>(where), isFour ? sizeof four : sizeof six) < 0)
        error = errno;
    if (tried >= 0)
        close(tried);
    return error != 0 ? std::strerror(error) : "the web server could not be started";
}

std::unique_ptr<prometheus::Exposer> listen(const Options& options) {
    try {
        return std::make_unique<prometheus::Exposer>(std::vector<std::string>{
            "listening_ports", endpoint(options.address, options.port), "num_threads", "4",
            // Nobody keeps the few threads busy by doing nothing.
            "request_timeout_ms", "5000", "enable_keep_alive", "no"});
    } catch (const std::exception&) {
        throw std::runtime_error(
            fmt::format("cannot listen on {}: {}; another port or address may do (--port, "
                        "--listen)",
                        endpoint(options.address, options.port), whyNotListening(options)));
    }
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
    const std::string folder = printable(options.configFolder.native());
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
    const auto scrapes = std::make_shared<Scrapes>(exchange, options.selection);
    const std::unique_ptr<prometheus::Exposer> server = listen(options);
    const int port = server->GetListeningPorts().at(0);
    const std::string target = endpoint(reachable(options.address), port);
    writeConfigFiles(options.configFolder, target, options.interval);
    leaveRoot();
    server->RegisterCollectable(scrapes);
    announce(options, target);
    Watch(exchange, stop).run();
    exchange.publish({}); // no scrape waits any more
}

} // namespace

} // namespace genv::monitor

int main(int count, char** arguments) {
    using namespace genv::monitor;
    try {
        const Options options = parseOptions(count, arguments);
        if (!options.isAboutItself)
            run(options);
        return EXIT_SUCCESS;
    } catch (const UsageError& error) {
        fmt::print(stderr, "genv-monitor: {}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "genv-monitor: {}\n", printable(error.what()));
        return EXIT_FAILURE;
    }
}
