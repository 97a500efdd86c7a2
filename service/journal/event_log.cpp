// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/event_log.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"
#include "service/journal/subjects.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace genv::service {

namespace {

namespace field = journal::field;
using core::Severity;
using journal::kindOf;
using journal::Record;
using std::chrono::microseconds;

using journal::describe;

std::string describe(const core::Cause& cause) {
    return fmt::format("reason {}, {}", cause.reason.text(), describe(cause.actor));
}

std::string describe(const core::DeviceFacts& device) {
    return fmt::format("GPU {}", device.index); // its UUID has its own field
}

std::string describe(const core::DeviceAttachment& attachment) {
    return fmt::format("{}{}{}", describe(attachment.device),
                       attachment.share ? ", " + core::nameMemory(*attachment.share) : "",
                       attachment.overSubscribed ? ", over-subscribed" : "");
}

std::string describe(microseconds time) {
    return core::formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(time));
}

std::uint64_t count(microseconds time) {
    return static_cast<std::uint64_t>(std::max(time, microseconds{0}).count());
}

void add(Record& record, const core::DeviceAttachment& attachment) {
    journal::addDevice(record, attachment.device);
    if (attachment.share)
        record.add(field::share, attachment.share->count);
    if (attachment.overSubscribed)
        record.add(field::overSubscribed, "1");
    record.add(field::since, core::toMicroseconds(attachment.since));
}

// Adds the reason and the rule. The caller is added together with the caller's name.
void add(Record& record, const core::Cause& cause) {
    constexpr std::string_view byRule = "rule:";
    const std::string& reason = cause.reason.text();
    record.add(field::reason, reason);
    if (reason.starts_with(byRule))
        record.add(field::rule, std::string_view(reason).substr(byRule.size()));
}

} // namespace

void EventLog::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void EventLog::addEnvironment(Record& record, const core::EnvironmentId& id,
                              const core::EnvironmentRecord* former) const {
    const core::EnvironmentRecord* environment = former != nullptr ? former : ledger_.find(id);
    if (environment != nullptr)
        journal::addEnvironment(record, *environment);
    else
        record.add(field::environment, id);
}

void EventLog::recovered(const core::RecoveryReport& report) {
    for (const core::EndedMeanwhile& ended : report.endedMeanwhile) {
        const core::EnvironmentRecord& former = ended.former;
        const core::Cause cause = core::Cause::fact(ended.reason);
        for (const core::DeviceAttachment& attachment : ended.attachments)
            on(core::Detached{former.id, former.uid, attachment, cause, &former});
        if (!ended.isOver)
            continue;
        for (const core::Wait& wait : former.waits)
            on(core::WaitEnded{former.id, former.uid, cause, missing(wait.request, former),
                               wait.since, clock_.wallNow() - wait.since, &former});
        on(core::EnvironmentRemoved{former.id, former.uid, cause, &former});
    }
}

void EventLog::on(const core::EnvironmentAdded& event) {
    Record record(kindOf("environment-started"), Severity::Info,
                  fmt::format("environment {} of uid {} began ({})", event.environment, event.owner,
                              describe(event.cause)));
    addEnvironment(record, event.environment);
    add(record, event.cause);
    record.add(field::since, core::toMicroseconds(ledger_.get(event.environment).created));
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::EnvironmentRemoved& event) {
    Record record(kindOf("environment-ended"), Severity::Info,
                  fmt::format("environment {} of uid {} ended ({})", event.environment, event.owner,
                              describe(event.cause)));
    addEnvironment(record, event.environment, event.former);
    add(record, event.cause);
    record.add(field::since, core::toMicroseconds(event.former->created));
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::EnvironmentLingers& event) {
    std::vector<core::DeviceIndex> devices;
    for (const core::DeviceFacts& device : event.devices)
        devices.push_back(device.index);
    Record record(kindOf("lingering"), Severity::Info,
                  fmt::format("environment {} of uid {} lingers: {} still {} {}", event.environment,
                              event.owner, core::nameProcesses(event.processes),
                              event.processes.size() == 1 ? "uses" : "use",
                              core::nameGpus(devices)));
    addEnvironment(record, event.environment);
    journal::addDevices(record, event.devices);
    record.add(field::pid, fmt::format("{}", fmt::join(event.processes, ",")));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::Attached& event) {
    Record record(kindOf("attached"), Severity::Info,
                  fmt::format("environment {} of uid {} was attached to {} ({})", event.environment,
                              event.owner, describe(event.attachment), describe(event.cause)));
    addEnvironment(record, event.environment);
    add(record, event.attachment);
    add(record, event.cause);
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::Detached& event) {
    Record record(kindOf("detached"), Severity::Info,
                  fmt::format("environment {} of uid {} was detached from {} ({})",
                              event.environment, event.owner, describe(event.attachment),
                              describe(event.cause)));
    addEnvironment(record, event.environment, event.former);
    add(record, event.attachment);
    record.add(field::held, count(clock_.wallNow() - event.attachment.since));
    add(record, event.cause);
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::AttachmentInUse& event) {
    Record record(kindOf("in-use"), Severity::Info,
                  fmt::format("environment {} of uid {} uses {}", event.environment, event.owner,
                              describe(event.device)));
    addEnvironment(record, event.environment);
    journal::addDevice(record, event.device);
    record.add(field::since, core::toMicroseconds(event.since));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::AttachmentIdle& event) {
    Record record(kindOf("idle"), Severity::Info,
                  fmt::format("environment {} of uid {} has not used {} for {}", event.environment,
                              event.owner, describe(event.device),
                              describe(clock_.wallNow() - event.since)));
    addEnvironment(record, event.environment);
    journal::addDevice(record, event.device);
    record.add(field::since, core::toMicroseconds(event.since));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::WaitStarted& event) {
    Record record(kindOf("wait-started"), Severity::Info,
                  fmt::format("environment {} of uid {} waits for {} ({})", event.environment,
                              event.owner, core::counted(event.count, "device"),
                              describe(event.actor)));
    addEnvironment(record, event.environment);
    record.add(field::count, std::uint64_t{event.count});
    record.add(field::since, core::toMicroseconds(event.since));
    records_.push(std::move(record), event.owner, event.actor);
}

void EventLog::on(const core::WaitGranted& event) {
    Record record(kindOf("wait-granted"), Severity::Info,
                  fmt::format("environment {} of uid {} got {} after it had waited for {}",
                              event.environment, event.owner,
                              core::counted(event.devices.size(), "device"),
                              describe(event.waited)));
    addEnvironment(record, event.environment);
    record.add(field::count, std::uint64_t{event.devices.size()});
    journal::addDevices(record, event.devices);
    record.add(field::since, core::toMicroseconds(event.since));
    record.add(field::waited, count(event.waited));
    records_.push(std::move(record), event.owner, event.actor);
}

void EventLog::on(const core::WaitEnded& event) {
    Record record(
        kindOf("wait-ended"), Severity::Info,
        fmt::format("environment {} of uid {} no longer waits for {}, which it did for {} "
                    "({})",
                    event.environment, event.owner, core::counted(event.count, "device"),
                    describe(event.waited), describe(event.cause)));
    addEnvironment(record, event.environment, event.former);
    record.add(field::count, std::uint64_t{event.count});
    record.add(field::since, core::toMicroseconds(event.since));
    record.add(field::waited, count(event.waited));
    add(record, event.cause);
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::ProcessTerminated& event) {
    Record record(kindOf("process-terminated"), Severity::Notice,
                  fmt::format("{} of uid {}, environment {}, on {} was told to end ({})",
                              core::nameProcesses({{event.pid, event.command}}), event.owner,
                              event.environment.value_or("none"), core::nameGpus(event.devices),
                              describe(event.cause)));
    record.add(field::pid, std::uint64_t{event.pid});
    record.add(field::command, event.command);
    if (event.environment)
        addEnvironment(record, *event.environment);
    journal::addDevices(record, ledger_, event.devices);
    add(record, event.cause);
    records_.push(std::move(record), event.owner, event.cause.actor);
}

void EventLog::on(const core::RuleWarning& event) {
    Record record(
        kindOf("rule-warning"), Severity::Notice,
        event.remaining.count() > 0
            ? fmt::format("{}; the rule acts in {}", event.message, describe(event.remaining))
            : event.message);
    record.add(field::rule, event.rule);
    if (event.environment)
        addEnvironment(record, *event.environment);
    record.add(field::left, count(event.remaining));
    records_.push(std::move(record), event.user, std::nullopt);
}

void EventLog::on(const core::LeaseEnding& event) {
    Record record(kindOf("lease-ending"), Severity::Info,
                  fmt::format("the lease of environment {} of uid {}{} ends in {}",
                              event.environment, event.owner,
                              event.device ? fmt::format(" on device {}", event.device->index) : "",
                              core::formatDuration(event.remaining)));
    addEnvironment(record, event.environment);
    if (event.device)
        journal::addDevice(record, *event.device);
    record.add(field::left, count(event.remaining));
    records_.push(std::move(record), event.owner, std::nullopt);
}

void EventLog::on(const core::DeviceAdded& event) {
    const core::TableDevice& device = ledger_.device(event.index);
    const bool moved = removedAtStart_.erase(device.facts.uuid) > 0;
    if (!areDevicesKnown_ && !moved) {
        if (device.health.state != core::Health::State::Stale) // a stale device is only remembered
            logHealth(device);
        return;
    }
    Record record(
        kindOf("device-added"), Severity::Notice,
        fmt::format("{} is there: {}", describe(device.facts), core::escaped(device.facts.model)));
    journal::addDevice(record, device.facts);
    record.add(field::health, core::toString(device.health));
    records_.push(std::move(record), std::nullopt, std::nullopt);
}

void EventLog::on(const core::DeviceRemoved& event) {
    if (!areDevicesKnown_)
        removedAtStart_.insert(event.facts.uuid);
    Record record(
        kindOf("device-removed"), Severity::Notice,
        fmt::format("{} is gone: {}", describe(event.facts), core::escaped(event.facts.model)));
    journal::addDevice(record, event.facts);
    records_.push(std::move(record), std::nullopt, std::nullopt);
}

void EventLog::on(const core::DeviceChanged& event) {
    if (event.field == core::DeviceField::Health)
        logHealth(ledger_.device(event.index));
}

// At the start, a healthy device is not worth a record of its own.
void EventLog::logHealth(const core::TableDevice& device) {
    const bool isWell = device.health.state == core::Health::State::Ok;
    if (isWell && !areDevicesKnown_)
        return;
    Record record(
        kindOf("device-health"), isWell ? Severity::Notice : Severity::Warning,
        fmt::format("the health of {} is {}", describe(device.facts), toString(device.health)));
    journal::addDevice(record, device.facts);
    record.add(field::health, core::toString(device.health));
    records_.push(std::move(record), std::nullopt, std::nullopt);
}

void EventLog::on(const core::AccessRefused& event) {
    const bool hasProcess = event.pid != 0; // unknown before Linux 6.1
    Record record(
        kindOf("open-refused"), Severity::Notice,
        fmt::format("the kernel {} {} of uid {} to open {}{}",
                    event.isRefused ? "refused" : "would have refused",
                    core::counted(event.count, "attempt"), event.user, describe(event.device),
                    hasProcess ? ", last by " + core::nameProcesses({{event.pid, event.command}})
                               : ""));
    journal::addDevice(record, event.device);
    record.add(field::count, event.count);
    if (hasProcess) {
        record.add(field::pid, std::uint64_t{event.pid});
        record.add(field::command, event.command);
    }
    records_.push(std::move(record), event.user, std::nullopt);
}

void EventLog::on(const core::IsolationChanged& event) {
    const std::string mode = core::toString(event.inForce);
    Record record(kindOf("isolation-changed"), Severity::Notice,
                  fmt::format("isolation is now in mode {}{}{}", mode,
                              event.isSuspended ? ", suspended" : "",
                              event.actor ? fmt::format(" ({})", describe(*event.actor)) : ""));
    record.add(field::isolation, mode);
    records_.push(std::move(record), std::nullopt, event.actor);
}

void EventLog::policyChanged(const std::vector<std::string>& settings, const core::Actor& actor) {
    std::string list;
    for (const std::string& setting : settings)
        list += (list.empty() ? "" : ", ") + core::escaped(setting);
    Record record(
        kindOf("policy-changed"), Severity::Notice,
        fmt::format("the configuration was reloaded and changed ({}): {}", describe(actor), list));
    record.add(field::settings, settings, ' ');
    records_.push(std::move(record), std::nullopt, actor);
}

} // namespace genv::service
