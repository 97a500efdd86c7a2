// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/leaving.hpp"

#include <chrono>

namespace genv::jobs {

namespace {

using namespace std::chrono_literals;

constexpr auto betweenTries = 5s;

} // namespace

Leaving::Leaving(ServiceLink& service, sd_event* loop)
    : service_(service), retry_(loop, [this] { onService(); }) {}

void Leaving::leave(const std::string& environment) {
    if (environments_.insert(environment).second)
        send(environment);
}

void Leaving::onService() {
    const std::set<std::string> all = environments_;
    for (const std::string& environment : all)
        send(environment);
}

void Leaving::send(const std::string& environment) {
    service_.leave(environment, [this, environment](const ServiceLink::Answer& answer) {
        using Outcome = ServiceLink::Outcome;
        if (answer.outcome == Outcome::Done || answer.outcome == Outcome::Gone)
            environments_.erase(environment);
        else if (answer.outcome == Outcome::Failed)
            retry_.start(betweenTries);
        // A genvd that ended has kept its environments: onService() asks the next one.
    });
}

} // namespace genv::jobs
