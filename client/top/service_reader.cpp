// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/top/collector.hpp"
#include "client/top/output.hpp"

#include <fmt/format.h>

#include <utility>

namespace genv::top {

ServiceReader::ServiceReader(ServiceConnection& link, std::optional<remote::Host> host)
    : link_(link) {
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
    for (const DeviceState& state : view_.machine.devices) {
        if (state.sampledAt && state.sensors.utilizationPercent)
            history_.add(state.device.index, *state.sampledAt, *state.sensors.utilizationPercent);
    }
}

void ServiceReader::readQueue() {
    view_.queue = link_.client().queue();
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

ctl::Json ServiceReader::json(const std::vector<std::uint32_t>& gpus) const {
    ctl::MachineAnswers answers{view_.machine, view_.queue, std::nullopt};
    if (view_.processTrouble.empty())
        answers.processes = view_.processes;
    const ctl::MachineObjects objects(answers, gpus);
    return jsonOf(
        frame(), {objects.devices(), objects.environments(), objects.processes(), objects.queue()});
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
