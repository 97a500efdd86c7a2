// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell/shell_news.hpp"

#include "core/sentences.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace genv::service {

void ShellNews::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void ShellNews::on(const core::Attached& event) {
    const core::Device* device = ledger_.devices().findUuid(event.attachment.device.uuid);
    const core::Environment* comer = ledger_.find(event.environment);
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
    const core::Device& device = ledger_.device(event.index);
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
