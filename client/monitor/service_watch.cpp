// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/service_watch.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace genv::monitor {

namespace {

constexpr std::chrono::milliseconds betweenConnects{1000};
constexpr std::size_t maxGrants = 4096;
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

std::string detailOf(const Notice& notice, const char* name) {
    const auto found = notice.details.find(name);
    return found == notice.details.end() ? std::string() : found->second;
}

// Returns the reason of a parking that failed, as that of one that did not.
std::string requesterOf(const Event& event) {
    if (std::string reason = detailOf(*event.notice, "reason"); !reason.empty())
        return reason;
    const bool isOwner = detailOf(*event.notice, "actor") == std::to_string(event.uid.value_or(0));
    return isOwner ? "user" : "admin";
}

// Returns 0 for anything but a number.
double secondsIn(const Notice& notice, const char* name) {
    const std::string text = detailOf(notice, name);
    std::uint64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    return error == std::errc{} && end == text.data() + text.size() ? static_cast<double>(seconds)
                                                                    : 0;
}

ParkedTotals totalsOf(const std::vector<Environment>& environments) {
    ParkedTotals totals;
    for (const Environment& environment : environments) {
        if (environment.parking.state != "parked")
            continue;
        ++totals.environments;
        totals.bytes += static_cast<double>(environment.parking.memoryBytes);
    }
    return totals;
}

LoanTotals loansOf(const std::vector<Environment>& environments) {
    LoanTotals totals;
    std::set<std::uint32_t> devices;
    for (const Environment& environment : environments) {
        if (environment.preemptible == "no" || environment.parking.state != "active")
            continue;
        ++totals.environments;
        devices.insert(environment.devices.begin(), environment.devices.end());
    }
    totals.devices = devices.size();
    return totals;
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
    case Event::Kind::Attached:
        noteGrant(event);
        break;
    case Event::Kind::EnvironmentRemoved:
        granted_.erase(event.environment.value_or(""));
        break;
    case Event::Kind::Notice:
        onNotice(event);
        break;
    default:
        break;
    }
}

void Watch::noteGrant(const Event& event) {
    if (granted_.size() >= maxGrants)
        granted_.clear(); // on another machine, the ids are untrusted
    granted_[event.environment.value_or("")] = event.time;
}

// Returns 0 if the exporter did not hear of the grant.
double Watch::secondsSinceGrant(const Event& event) const {
    const auto found = granted_.find(event.environment.value_or(""));
    return found == granted_.end()
               ? 0
               : std::max(0.0, std::chrono::duration<double>(event.time - found->second).count());
}

void Watch::onNotice(const Event& event) {
    const Notice& notice = *event.notice;
    if (notice.kind == "parked")
        exchange_.countPark(detailOf(notice, "reason"), outcome::parked, secondsIn(notice, "took"));
    else if (notice.kind == "parking-failed")
        exchange_.countPark(requesterOf(event), outcome::failed, 0);
    else if (notice.kind == "taking-ended")
        exchange_.countTaking(detailOf(notice, "message").empty() ? outcome::granted
                                                                  : outcome::failed,
                              secondsIn(notice, "took"));
    else if (notice.kind == "resumed")
        exchange_.countResume(outcome::resumed, secondsSinceGrant(event));
    else if (notice.kind == "process-lost" && event.uid == 0U) // its owner is told as well
        exchange_.countResume(outcome::lost, 0);
}

ServiceState Watch::ask(Client& client) {
    ServiceState state;
    state.machine = client.machine(StartsService::No);
    state.isolation = client.isolation();
    state.queue = client.queue();
    state.processes = client.processes();
    state.parked = totalsOf(state.machine.environments);
    state.loans = loansOf(state.machine.environments);
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
