// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/task_requests.hpp"

#include "client/jobs/model/attempt_environment_id.hpp"
#include "dbus/contract/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace genv::jobs {

namespace {

namespace error = dbus::contract::error;
using namespace std::chrono_literals;

constexpr auto beforeResend = 250ms;
constexpr auto beforeRetry = 30s;
constexpr auto maxDelay = 60s;

// Errors that no later call changes: the request itself is wrong, or somebody ended its wait.
constexpr std::array<std::string_view, 4> finalErrors{
    error::invalidArgs, error::interactiveAuthorizationRequired, error::deviceUnavailable,
    error::notSupported};
// While polkit restarts, everything is denied.
constexpr unsigned maxDenials = 3;

bool isFinal(std::string_view name) {
    return std::find(finalErrors.begin(), finalErrors.end(), name) != finalErrors.end();
}

// The environment of an earlier genv-jobs was just ending, or the runner was killed.
bool hasEnded(std::string_view name) {
    return name == error::noSuchEnvironment || name == error::noSuchProcess;
}

bool isQuota(std::string_view name) {
    return name == error::quotaExceeded || name == error::limitsExceeded;
}

} // namespace

Requests::Requests(ServiceLink& service, sd_event* loop, uid_t uid, Listener listener)
    : service_(service), uid_(uid), listener_(std::move(listener)),
      resend_(loop, [this] { sendReady(); }), delayTimer_(loop, [this] {
          setDelayTimer();
          listener_.changed();
      }) {}

void Requests::open(TaskName task, Wanted wanted, std::unique_ptr<Runner> runner) {
    std::string environment = environmentIdOf({task, wanted.attempt}, wanted.isArray);
    requests_[task] = {.opened = ++lastOpened_,
                       .serial = 0,
                       .wanted = std::move(wanted),
                       .environment = std::move(environment),
                       .runner = std::move(runner),
                       .isSent = false};
}

void Requests::onReady(const AttemptName& attempt) {
    if (find(attempt) != nullptr)
        sendReady();
}

void Requests::onEnded(const AttemptName& attempt, const std::string& why) {
    if (find(attempt) == nullptr)
        return; // withdrawn meanwhile
    withdraw(attempt.task);
    delay(attempt.task, why);
    listener_.changed();
}

Dictionary Requests::optionsOf(TaskName task, const Request& request) const {
    const Wanted& wanted = request.wanted;
    Dictionary options = wanted.options;
    options["id"] = sdbus::Variant(request.environment);
    options["name"] =
        sdbus::Variant(wanted.name.empty() ? fmt::format("job {}", task.job) : wanted.name);
    if (wanted.gpus == 0)
        return options; // nothing to wait for
    options["wait"] = sdbus::Variant(true);
    options["hold-for-quota"] = sdbus::Variant(true);
    options["priority"] = sdbus::Variant(wanted.priority);
    return options;
}

void Requests::send(TaskName task, Request& request) {
    if (!service_.isThere())
        return;
    request.isSent = true;
    request.serial = ++lastSerial_; // so that a late answer to an earlier call is ignored
    service_.activate(optionsOf(task, request), request.runner->process(),
                      [this, task, serial = request.serial](const Answer& answer) {
                          onAnswer(task, serial, answer);
                      });
}

// In the order in which they were opened, since genvd has no other.
void Requests::sendReady() {
    std::map<std::uint64_t, TaskName> unsent;
    for (const auto& [task, request] : requests_) {
        if (!request.isSent)
            unsent.emplace(request.opened, task);
    }
    for (const auto& [opened, task] : unsent) {
        Request& request = requests_.at(task);
        if (request.runner->process() < 0)
            return;
        send(task, request);
    }
}

Requests::Request* Requests::find(TaskName task, std::uint64_t serial) {
    const auto found = requests_.find(task);
    return found != requests_.end() && found->second.serial == serial ? &found->second : nullptr;
}

Requests::Request* Requests::find(const AttemptName& attempt) {
    const auto found = requests_.find(attempt.task);
    return found != requests_.end() && found->second.wanted.attempt == attempt.attempt
               ? &found->second
               : nullptr;
}

void Requests::onAnswer(TaskName task, std::uint64_t serial, const Answer& answer) {
    if (withdrawn_.erase(serial) > 0) {
        listener_.changed(); // there is room for another one
        return;
    }
    Request* request = find(task, serial);
    if (request == nullptr)
        return;
    if (answer.outcome != ServiceLink::Outcome::Done) {
        onFailure(task, *request, answer);
        return;
    }
    service_.readGranted(request->environment,
                         [this, task, serial](const Answer& read, const auto& environment) {
                             onGranted(task, serial, read, environment);
                         });
}

void Requests::onFailure(TaskName task, Request& request, const Answer& answer) {
    if (answer.outcome == ServiceLink::Outcome::Lost) {
        request.isSent = false; // the next genvd gets it
        if (service_.isThere())
            resend_.start(beforeResend);
        return;
    }
    if (answer.error == error::alreadyExists) { // each user has a job 1
        request.environment = environmentIdOf(request.environment, uid_, request.serial);
        send(task, request);
        return;
    }
    if (answer.error == error::timeout) { // MaxWait is over
        send(task, request);
        return;
    }
    requests_.erase(task);
    if (isFinal(answer.error) || isDeniedAgain(task, answer))
        refuse(task, answer.text);
    else if (hasEnded(answer.error))
        delay(task, answer.text);
    else
        postpone(task, beforeRetry, answer.text, isQuota(answer.error));
    listener_.changed();
}

bool Requests::isDeniedAgain(TaskName task, const Answer& answer) const {
    const auto delay = delays_.find(task);
    return answer.error == error::accessDenied && delay != delays_.end() &&
           delay->second.count + 1 >= maxDenials;
}

void Requests::refuse(TaskName task, const std::string& reason) {
    delays_.erase(task);
    listener_.refused(task, reason);
}

void Requests::onGranted(TaskName task, std::uint64_t serial, const Answer& answer,
                         const GrantedEnvironment& environment) {
    Request* request = find(task, serial);
    if (request == nullptr) { // withdrawn meanwhile
        withdrawn_.erase(serial);
        listener_.changed();
        return;
    }
    if (answer.outcome == ServiceLink::Outcome::Lost) {
        onFailure(task, *request, answer);
        return;
    }
    Request taken = std::move(*request);
    requests_.erase(task);
    if (answer.outcome == ServiceLink::Outcome::Done &&
        environment.devices.size() >= taken.wanted.gpus) {
        listener_.granted(task, {environment, std::move(taken.runner)});
        return;
    }
    // It has ended again, or an older environment had this id.
    delay(task, "its environment ended before it started");
}

// The end of its runner ends a wait.
void Requests::withdraw(TaskName task) {
    const auto request = requests_.extract(task);
    if (!request.empty() && request.mapped().isSent)
        withdrawn_.insert(request.mapped().serial);
    sendReady(); // others may have waited for its runner
}

std::set<TaskName> Requests::tasks() const {
    std::set<TaskName> tasks;
    for (const auto& [task, request] : requests_)
        tasks.insert(tasks.end(), task);
    return tasks;
}

std::string Requests::environmentOf(TaskName task) const {
    const auto found = requests_.find(task);
    return found == requests_.end() ? std::string() : found->second.environment;
}

// The first one is short: the usual reason is a kill or a restart.
void Requests::delay(TaskName task, const std::string& reason) {
    const auto found = delays_.find(task);
    const unsigned count = found == delays_.end() ? 0 : found->second.count;
    constexpr unsigned maxDoublings = 10;
    const std::chrono::milliseconds wanted = 100ms * (1U << std::min(count, maxDoublings));
    postpone(task, std::min<std::chrono::milliseconds>(wanted, maxDelay), reason, false);
}

void Requests::postpone(TaskName task, std::chrono::milliseconds delay, const std::string& reason,
                        bool isQuota) {
    Delay& entry = delays_[task];
    entry = {Clock::now() + delay, reason, entry.count + 1, isQuota};
    setDelayTimer();
}

void Requests::retryQuota() {
    for (auto& [task, delay] : delays_) {
        if (delay.isQuota)
            delay.until = Clock::time_point::min();
    }
}

std::map<TaskName, std::string> Requests::delayed() const {
    const auto now = Clock::now();
    std::map<TaskName, std::string> tasks;
    for (const auto& [task, delay] : delays_) {
        if (delay.until > now)
            tasks.emplace(task, delay.reason);
    }
    return tasks;
}

void Requests::setDelayTimer() {
    const auto now = Clock::now();
    auto next = Clock::time_point::max();
    for (const auto& [task, delay] : delays_) {
        if (delay.until > now)
            next = std::min(next, delay.until);
    }
    delayTimer_.stop();
    if (next != Clock::time_point::max())
        delayTimer_.start(std::chrono::ceil<std::chrono::milliseconds>(next - now));
}

void Requests::onService(bool isThere) {
    if (!isThere) {
        withdrawn_.clear(); // their waits ended with genvd
        for (auto& [task, request] : requests_)
            request.isSent = false;
        return;
    }
    sendReady();
}

} // namespace genv::jobs
