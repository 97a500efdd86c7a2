// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/text.hpp"
#include "client/top/collector.hpp"

#include <fmt/format.h>

#include <utility>

namespace genv::top {

ServiceReader::ServiceReader(ServiceLink& link, std::optional<remote::Host> host) : link_(link) {
    if (host)
        observer_.host = host->label();
    else
        observer_.environment = client::namedEnvironment();
}

void ServiceReader::readMachine() {
    Client& client = link_.client();
    if (!isKnown_)
        observer_.uid = client.uid();
    isKnown_ = true;
    view_.machine = client.machine();
    view_.conditions = client.deviceConditions();
    for (const MachineDevice& device : view_.machine.devices) {
        const DeviceState& state = device.state;
        if (state.sampledAt && state.utilizationPercent)
            history_.add(state.device.index, *state.sampledAt, *state.utilizationPercent);
    }
}

void ServiceReader::readQueue() {
    view_.queue = link_.client().describeQueue();
}

void ServiceReader::readHistory() {
    const Time since = ctl::currentTime() - std::chrono::seconds{10} * historySteps;
    for (const Reading& reading : link_.client().readings(since)) {
        if (reading.utilizationPercent)
            history_.add(reading.device, reading.when, *reading.utilizationPercent);
    }
}

void ServiceReader::readProcesses() {
    if (Clock::now() < processesDue_)
        return;
    try {
        view_.processes = link_.client().describeProcesses();
        view_.processTrouble.clear();
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) { // a driver that hangs: everything else is known without it
        view_.processTrouble = error.what();
        processesDue_ = Clock::now() + processRetryInterval;
    }
}

Frame ServiceReader::frame() const {
    return frameOf(view_, history_, observer_, ctl::currentTime());
}

Frame troubleFrame(const ctl::Failure& failure, const std::optional<remote::Host>& host) {
    Frame frame;
    frame.when = ctl::currentTime();
    if (host)
        frame.host = host->label();
    frame.trouble = failure.what();
    if (!failure.hint().empty())
        frame.trouble += (frame.trouble.ends_with('.') ? " " : ". ") + failure.hint();
    return frame;
}

} // namespace genv::top
