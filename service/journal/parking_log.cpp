// SPDX-License-Identifier: LGPL-2.1-or-later
// The records of parking.
#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/sentences/sentences.hpp"
#include "service/journal/event_log.hpp"
#include "service/journal/subjects.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace genv::service {

namespace {

namespace field = journal::field;
using core::Severity;
using journal::kindOf;
using journal::Record;

std::string nameAll(const std::vector<core::DeviceFacts>& devices) {
    std::vector<core::DeviceIndex> indices;
    for (const core::DeviceFacts& device : devices)
        indices.push_back(device.index);
    return core::nameGpus(indices);
}

std::string lasting(std::chrono::microseconds time) {
    return core::formatDuration(std::chrono::ceil<std::chrono::seconds>(time));
}

std::uint64_t positive(std::chrono::microseconds time) {
    return static_cast<std::uint64_t>(std::max(time, std::chrono::microseconds{0}).count());
}

// Returns for whom an environment was parked, or why, before " in 6s".
std::string because(const core::EnvironmentParked& event) {
    if (event.reason == core::Reason::admin().text())
        return ""; // the record names the caller
    const std::string text = core::becauseParked(
        {event.reason, "", event.taker ? core::printable(event.taker->user) : std::string(), {}});
    return text.empty() ? "" : text + " ";
}

void addTaker(Record& record, const core::Taker& taker) {
    record.add(field::takerUid, std::uint64_t{taker.uid});
    record.add(field::takerUser, taker.user);
    record.add(field::takerEnvironment, taker.environment);
}

// Returns "environment 7 of alice, environment 8 of carol".
std::string nameAll(const std::vector<core::TakingVictim>& victims) {
    std::vector<std::string> names;
    for (const core::TakingVictim& victim : victims)
        names.push_back(
            fmt::format("environment {} of {}", victim.environment, core::printable(victim.user)));
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

void EventLog::on(const core::EnvironmentParked& event) {
    Record record(
        kindOf("parked"), Severity::Info,
        fmt::format("environment {} of uid {} was parked {}in {}: {} moved to host memory, "
                    "and {} {} free (reason {})",
                    event.environment, event.owner, because(event), lasting(event.took),
                    core::nameMemory(event.memory), nameAll(event.devices),
                    event.devices.size() == 1 ? "is" : "are", event.reason));
    addEnvironment(record, event.environment);
    if (event.taker)
        addTaker(record, *event.taker);
    journal::addDevices(record, event.devices);
    record.add(field::reason, event.reason);
    record.add(field::memory, event.memory.count);
    record.add(field::took, positive(event.took));
    records_.push(std::move(record), event.owner, event.actor);
}

void EventLog::on(const core::EnvironmentResumed& event) {
    Record record(kindOf("resumed"), Severity::Info,
                  fmt::format("environment {} of uid {} goes on on {} after {}", event.environment,
                              event.owner, nameAll(event.devices), lasting(event.parked)));
    addEnvironment(record, event.environment);
    journal::addDevices(record, event.devices);
    record.add(field::took, positive(event.parked));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::ParkingFailed& event) {
    Record record(kindOf("parking-failed"), Severity::Notice,
                  fmt::format("environment {} of uid {} was not parked: {}", event.environment,
                              event.owner, event.problem));
    addEnvironment(record, event.environment);
    record.add(field::problem, event.problem);
    records_.push(std::move(record), event.owner, event.actor);
}

void EventLog::on(const core::ResumeDelayed& event) {
    Record record(kindOf("resume-delayed"), Severity::Notice,
                  fmt::format("environment {} of uid {} cannot go on yet: {}", event.environment,
                              event.owner, event.problem));
    addEnvironment(record, event.environment);
    record.add(field::problem, event.problem);
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::ProcessLost& event) {
    Record record(kindOf("process-lost"), Severity::Error,
                  fmt::format("{} of uid {}, environment {}, is lost: {}",
                              core::nameProcesses({{event.pid, event.command}}), event.owner,
                              event.environment, event.problem));
    addEnvironment(record, event.environment);
    record.add(field::pid, std::uint64_t{event.pid});
    record.add(field::command, event.command);
    record.add(field::problem, event.problem);
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::ParkedTooLong& event) {
    Record record(
        kindOf("parked-long"), Severity::Notice,
        fmt::format("environment {} of uid {} has been parked for MaxParkedTime, and ends "
                    "in {}",
                    event.environment, event.owner, core::formatDuration(event.remaining)));
    addEnvironment(record, event.environment);
    record.add(field::left, positive(event.remaining));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::TakingBegan& event) {
    std::vector<core::DeviceFacts> devices;
    std::vector<std::string> ids;
    core::Bytes memory;
    for (const core::TakingVictim& victim : event.victims) {
        devices.insert(devices.end(), victim.devices.begin(), victim.devices.end());
        ids.push_back(victim.environment);
        memory = memory + victim.bytes;
    }
    std::sort(devices.begin(), devices.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
    Record record(
        kindOf("taking-began"), Severity::Info,
        fmt::format("environment {} of uid {} takes {}: {} is parked, which takes about {}{}",
                    event.environment, event.owner, nameAll(devices), nameAll(event.victims),
                    lasting(event.estimate),
                    memory == core::Bytes{0} ? "" : " for " + core::nameMemory(memory)));
    addEnvironment(record, event.environment);
    journal::addDevices(record, devices);
    record.add(field::taken, ids);
    record.add(field::memory, memory.count);
    record.add(field::left, positive(event.estimate));
    records_.push(std::move(record), event.owner, event.actor);
}

void EventLog::on(const core::TakingEnded& event) {
    const bool isGranted = event.why.empty();
    Record record(kindOf("taking-ended"), isGranted ? Severity::Info : Severity::Notice,
                  fmt::format("environment {} of uid {} {}", event.environment, event.owner,
                              isGranted ? "has the GPUs that were parked for it"
                                        : "takes no GPUs: " + event.why));
    addEnvironment(record, event.environment);
    if (!isGranted)
        record.add(field::problem, event.why);
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::LoanEnding& event) {
    Record record(kindOf("loan-ending"), Severity::Notice,
                  fmt::format("environment {} of uid {} cannot be parked for a request of {}, and "
                              "ends in {}",
                              event.environment, event.owner, core::printable(event.taker.user),
                              core::formatDuration(event.grace)));
    addEnvironment(record, event.environment);
    addTaker(record, event.taker);
    record.add(field::left, positive(event.grace));
    records_.push(std::move(record), event.owner, std::nullopt);
}

} // namespace genv::service
