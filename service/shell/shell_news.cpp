// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell/shell_news.hpp"

#include "core/base/text.hpp"
#include "core/parking/parking_sentences.hpp"
#include "core/sentences/sentences.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace genv::service {

namespace {

std::vector<core::DeviceIndex> indicesOf(const std::vector<core::DeviceFacts>& devices) {
    std::vector<core::DeviceIndex> indices;
    for (const core::DeviceFacts& device : devices)
        indices.push_back(device.index);
    std::sort(indices.begin(), indices.end());
    return indices;
}

} // namespace

void ShellNews::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void ShellNews::on(const core::Attached& event) {
    const core::TableDevice* device = ledger_.devices().findUuid(event.attachment.device.uuid);
    const core::EnvironmentRecord* comer = ledger_.find(event.environment);
    if (device == nullptr || comer == nullptr || !event.attachment.overSubscribed)
        return;
    for (const core::Holder& holder : device->holders) {
        if (ledger_.get(holder.environment).uid != event.owner)
            notifyOfFact(holder.environment,
                         core::describeSharing(device->facts.index, event.environment,
                                               core::escaped(comer->user)));
    }
}

void ShellNews::on(const core::DeviceChanged& event) {
    if (event.field != core::DeviceField::Health)
        return;
    const core::TableDevice& device = ledger_.device(event.index);
    if (!unwell_.isNews(device))
        return;
    for (const core::Holder& holder : device.holders)
        notifyOfFact(holder.environment,
                     core::describeHealth(device.facts.index, core::toString(device.health)));
}

void ShellNews::on(const core::ProcessTerminated& event) {
    if (!event.cause.isNews())
        return;
    if (terminations_.empty())
        scheduler_.soon([this] { notifyOfTerminations(); });
    auto same = std::find_if(terminations_.begin(), terminations_.end(), [&](const auto& each) {
        return each.environment == event.environment && each.owner == event.owner &&
               each.cause.reason == event.cause.reason && each.cause.actor == event.cause.actor;
    });
    if (same == terminations_.end())
        same = terminations_.insert(same, {event.environment, event.owner, event.cause, {}, {}});
    same->processes.emplace(event.pid, event.command);
    same->devices.insert(event.devices.begin(), event.devices.end());
}

void ShellNews::on(const core::RuleWarning& event) {
    const bool acts = event.remaining.count() > 0;
    std::string sentence = core::describeWarning(
        event.message, event.rule,
        acts ? std::optional(clock_.wallNow() + event.remaining) : std::nullopt);
    notify(event.environment, event.user, core::Cause::fact(core::Reason::rule(event.rule)),
           [sentence = std::move(sentence)](const std::string&) { return sentence; });
}

void ShellNews::on(const core::MemoryFilling& event) {
    notifyOfFact(event.environment,
                 core::describeMemory(event.device.index, event.used, event.share));
}

// If isolation only watches, the user has lost nothing. The kernel does not report the environment
// of the refused process, if any.
void ShellNews::on(const core::AccessRefused& event) {
    if (!event.isRefused)
        return;
    const core::DeviceIndex index = event.device.index;
    const bool isHeld = !ledger_.holdersOf(event.device.uuid).empty();
    notify(std::nullopt, event.user, core::Cause::fact(core::Reason::user()),
           [sentence = core::describeRefusedOpen(index, {{event.pid, event.command}}) + "; " +
                       core::adviseOnRefusedOpen(index, isHeld)](const std::string&) {
               return sentence;
           });
}

// An environment that was parked for others waits in the queue. When the turn ends, the request has
// its devices, so that it is known how long it may keep them.
void ShellNews::on(const core::EnvironmentParked& event) {
    if (core::ParkedWhy{event.reason}.resumesByItself())
        scheduler_.soon([this, event] { notifyOfParking(event, comeback_(event.environment)); });
    else
        notifyOfParking(event, std::nullopt);
}

// The user's other shells did not see the request, so that this is news even to its maker.
void ShellNews::notifyOfParking(const core::EnvironmentParked& event,
                                const std::optional<core::WallTime>& expected) {
    const core::ParkedWhy why{event.reason, "", event.taker ? core::escaped(event.taker->user) : "",
                              expected};
    notify(
        event.environment, event.owner, core::Cause::request(event.actor, event.owner),
        [devices = indicesOf(event.devices), memory = event.memory, why](const std::string& actor) {
            core::ParkedWhy named = why;
            named.actor = actor;
            return core::describeParked(devices, memory, named);
        });
}

void ShellNews::on(const core::EnvironmentResumed& event) {
    notifyOfFact(event.environment, core::describeResumed(indicesOf(event.devices)));
}

void ShellNews::on(const core::ParkingFailed& event) {
    notifyOfFact(event.environment, core::describeParkingFailed(event.problem, event.reason));
}

void ShellNews::on(const core::ResumeDelayed& event) {
    notifyOfFact(event.environment, core::describeResumeDelayed(event.problem));
}

void ShellNews::on(const core::ProcessLost& event) {
    notifyOfFact(event.environment,
                 core::describeLost({{event.pid, event.command}}, event.problem));
}

void ShellNews::on(const core::ParkedTooLong& event) {
    notifyOfFact(event.environment, core::describeParkedTooLong(
                                        event.environment, clock_.wallNow() + event.remaining));
}

void ShellNews::on(const core::LoanEnding& event) {
    notifyOfFact(event.environment, core::describeLoanEnding(core::escaped(event.taker.user),
                                                             clock_.wallNow() + event.grace));
}

void ShellNews::notifyOfTerminations() {
    for (const Termination& each : std::exchange(terminations_, {}))
        notify(each.environment, each.owner, each.cause,
               [processes = each.processes,
                devices = std::vector(each.devices.begin(), each.devices.end()),
                reason = each.cause.reason.text()](const std::string& actor) {
                   return core::describeTermination(processes, devices, reason, actor);
               });
}

void ShellNews::notifyOfFact(const core::EnvironmentId& environment, const std::string& sentence) {
    files_.notify(environment, core::Cause::fact(core::Reason::user()),
                  [sentence](const std::string&) { return sentence; });
}

void ShellNews::notify(const std::optional<core::EnvironmentId>& environment, core::Uid owner,
                       const core::Cause& cause, const Sentence& sentence) {
    if (environment) {
        files_.notify(*environment, cause, sentence);
        return;
    }
    for (const auto& [sequence, each] : ledger_.environments()) {
        if (each.uid == owner)
            files_.notify(each.id, cause, sentence);
    }
}

} // namespace genv::service
