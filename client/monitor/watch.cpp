// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/watch.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace genv::monitor {

namespace {

constexpr std::chrono::milliseconds betweenConnects{1000};
constexpr const char* isThere = "the service is running";

// Returns a descriptor that is readable when one of the two is.
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

// Actions of users and administrators are not enforcement.
bool isEnforcement(const std::string& reason) {
    return reason.starts_with("rule:") || reason == "idle" || reason == "expired";
}

} // namespace

Watch::Watch(Exchange& exchange, int stopDescriptor, std::string name)
    : exchange_(exchange), stopDescriptor_(stopDescriptor),
      wakeDescriptor_(eitherOf(exchange.descriptor(), stopDescriptor)), name_(std::move(name)) {}

Watch::~Watch() {
    close(wakeDescriptor_);
}

bool Watch::stopsWithin(std::chrono::milliseconds time) const {
    return becomesReadable(stopDescriptor_, time);
}

void Watch::awaitRequest(std::chrono::steady_clock::time_point until) const {
    const auto remaining = until - std::chrono::steady_clock::now();
    if (remaining.count() > 0)
        becomesReadable(wakeDescriptor_, std::chrono::ceil<std::chrono::milliseconds>(remaining));
}

void Watch::serve(Client& client) {
    exchange_.expire(); // the last sample is from a time without a bus
    logState(client.serviceIsThere() ? isThere : "the service genvd is not running");
    while (!isStopped()) {
        if (const auto event = client.nextEvent(wakeDescriptor_))
            onEvent(*event);
        else if (exchange_.takeRequest())
            exchange_.publish(take(client));
    }
}

void Watch::onEvent(const Event& event) {
    switch (event.kind) {
    case Event::Kind::ServiceStarted:
        exchange_.expire();
        logState(isThere);
        break;
    case Event::Kind::ServiceEnded:
        exchange_.expire();
        logState("the service genvd has ended");
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

ServiceState Watch::ask(Client& client) {
    ServiceState state;
    OverviewWithRefusals seen = client.overviewWithRefusals();
    state.overview = std::move(seen.overview);
    state.refusedOpens = std::move(seen.refusedOpens);
    state.conditions = client.deviceConditions();
    state.isolation = client.isolation();
    state.queue = client.describeQueue();
    state.processes = client.processes();
    return state;
}

void Watch::logState(const std::string& state) {
    if (state == loggedState_)
        return;
    loggedState_ = state;
    report(state);
}

void Watch::report(const std::string& text) const {
    fmt::print(stderr, "genv-monitor: {}{}{}\n", name_, name_.empty() ? "" : ": ",
               core::printable(text));
}

void LocalWatch::run() {
    do {
        try {
            Client client;
            client.listenForEventsOnly();
            serve(client);
        } catch (const Error& error) {
            logState(fmt::format("cannot use the bus: {}", error.what()));
            Sample none;
            none.begun = std::chrono::steady_clock::now();
            exchange().publish(std::move(none));
        }
    } while (!stopsWithin(betweenConnects));
}

Sample LocalWatch::take(Client& client) {
    Sample sample;
    sample.begun = std::chrono::steady_clock::now();
    if (!client.serviceIsThere())
        return sample;
    try {
        sample.state = ask(client);
        sample.isUp = true;
        logState(isThere);
    } catch (const Error& error) {
        exchange().countError();
        logState(fmt::format("the service does not answer: {}", error.what()));
    }
    sample.took = std::chrono::steady_clock::now() - sample.begun;
    return sample;
}

} // namespace genv::monitor
