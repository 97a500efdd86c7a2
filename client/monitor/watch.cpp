// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/watch.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace genv::monitor {

namespace {

constexpr std::chrono::milliseconds betweenConnects{1000};

// Readable when one of the two is.
int eitherOf(int one, int other) {
    const int descriptor = epoll_create1(EPOLL_CLOEXEC);
    for (const int watched : {one, other}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (descriptor < 0 || epoll_ctl(descriptor, EPOLL_CTL_ADD, watched, &event) < 0)
            throw std::system_error(errno, std::generic_category(), "epoll");
    }
    return descriptor;
}

bool becomesReadable(int descriptor, std::chrono::milliseconds within) {
    pollfd watched{descriptor, POLLIN, 0};
    return poll(&watched, 1, static_cast<int>(within.count())) > 0;
}

// What users and administrators do themselves is no enforcement.
bool isEnforcement(const std::string& reason) {
    return reason.starts_with("rule:") || reason == "idle" || reason == "expired";
}

} // namespace

Watch::Watch(Exchange& exchange, int stopDescriptor)
    : exchange_(exchange), stopDescriptor_(stopDescriptor),
      wakeDescriptor_(eitherOf(exchange.descriptor(), stopDescriptor)) {}

Watch::~Watch() {
    close(wakeDescriptor_);
}

bool Watch::isStopped() const {
    return becomesReadable(stopDescriptor_, std::chrono::milliseconds{0});
}

void Watch::run() {
    do {
        try {
            Client client;
            client.listenForEventsOnly();
            serve(client);
        } catch (const Error& error) {
            tell(fmt::format("the bus cannot be used: {}", error.what()));
            publishNone();
        }
    } while (!becomesReadable(stopDescriptor_, betweenConnects));
}

void Watch::serve(Client& client) {
    if (client.serviceIsThere()) {
        exchange_.expire(); // of the time without a bus
        tell("the service is there");
    } else {
        publishNone();
        tell("the service genvd is not running");
    }
    while (!isStopped()) {
        if (const auto event = client.nextEvent(wakeDescriptor_))
            hear(*event);
        else if (exchange_.takeRequest())
            exchange_.publish(take(client));
    }
}

void Watch::hear(const Event& event) {
    switch (event.kind) {
    case Event::Kind::ServiceStarted:
        exchange_.expire();
        tell("the service is there");
        break;
    case Event::Kind::ServiceEnded:
        publishNone();
        tell("the service genvd has ended");
        break;
    case Event::Kind::ProcessTerminated:
        if (isEnforcement(event.reason))
            exchange_.countAction("terminate", event.reason);
        break;
    case Event::Kind::Detached:
        if (isEnforcement(event.reason))
            exchange_.countAction("detach", event.reason);
        break;
    default:
        break;
    }
}

Sample Watch::take(Client& client) {
    Sample sample;
    sample.begun = std::chrono::steady_clock::now();
    if (!client.serviceIsThere())
        return sample;
    try {
        ServiceState state;
        state.overview = client.overview();
        state.queue = client.queue();
        state.processes = client.processes();
        sample.state = std::move(state);
        tell("the service is there");
    } catch (const Error& error) {
        exchange_.countError();
        tell(fmt::format("the service does not answer: {}", error.what()));
    }
    sample.took = std::chrono::steady_clock::now() - sample.begun;
    return sample;
}

void Watch::publishNone() {
    Sample none;
    none.begun = std::chrono::steady_clock::now();
    exchange_.publish(std::move(none));
}

void Watch::tell(const std::string& state) {
    if (state == told_)
        return;
    told_ = state;
    fmt::print(stderr, "genv-monitor: {}\n", core::printable(state));
}

} // namespace genv::monitor
