// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/notices.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <variant>

namespace genv::dbus {

namespace {

std::map<std::string, sdbus::Variant> describe(const core::DeviceFacts& device) {
    return {{"device", sdbus::Variant{device.index}},
            {"uuid", sdbus::Variant{device.uuid}},
            {"model", sdbus::Variant{device.model}}};
}

std::uint64_t wholeSeconds(std::chrono::microseconds time) {
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

// The owner of a job is not notified of Slurm's own actions on it.
bool isNews(const core::Cause& cause, const core::Environment* environment) {
    const bool isJobs = environment != nullptr && environment->job;
    return cause.isNews() && !(isJobs && cause.reason == core::Reason::job());
}

// Returns whether a process with this PID exists, or if that cannot be determined now.
bool isAlive(core::Processes& processes, core::Pid pid) {
    try {
        return !processes.hold(pid)->hasExited();
    } catch (const core::Error& error) {
        return error.code() != core::ErrorCode::NoSuchProcess;
    }
}

} // namespace

void Notices::onEvent(const core::Event& event) {
    std::visit([this](const auto& specific) { on(specific); }, event);
}

void Notices::on(const core::Attached& event) {
    const core::Device* device = sharing_.ledger.devices().findUuid(event.attachment.device.uuid);
    const core::Environment* environment = sharing_.ledger.find(event.environment);
    if (isNews(event.cause, environment))
        notify(event.owner, "attached", event.environment, event.cause.actor,
               describe(event.attachment.device));
    if (device == nullptr)
        return;
    if (device->isUsedOutside() && !event.attachment.overSubscribed)
        warnOfOccupant(event);
    // Jobs share devices as they were submitted.
    if (!event.attachment.overSubscribed || (environment != nullptr && environment->job))
        return;
    for (const core::Holder& holder : device->holders) {
        const core::Environment& other = sharing_.ledger.get(holder.environment);
        if (other.uid == event.owner)
            continue;
        Details details = describe(device->facts);
        details["by"] = sdbus::Variant{event.environment};
        notify(other.uid, "over-subscribed", other.id, event.cause.actor, std::move(details));
    }
}

bool Notices::isJustSampled() const {
    const auto last = machine_.observer.last();
    return last && last->started + core::freshSample >= runtime_.clock.bootNow();
}

bool Notices::isStillUsed(const core::Device& device) const {
    return device.unaccounted.amount() > core::Bytes{0} ||
           (device.occupied && isAlive(machine_.processes, device.occupant.pid));
}

void Notices::warnOfOccupant(const core::Attached& event) {
    const core::DeviceUuid& device = event.attachment.device.uuid;
    const core::Device* now = sharing_.ledger.devices().findUuid(device);
    if (isJustSampled() && isStillUsed(*now))
        notifyOfOccupant(event.environment, device, event.cause.actor);
    else
        sharing_.occupancy.sample(
            [this, id = event.environment, device, actor = event.cause.actor] {
                notifyOfOccupant(id, device, actor);
            });
}

void Notices::notifyOfOccupant(const core::EnvironmentId& environment,
                               const core::DeviceUuid& device, const core::Actor& actor) {
    const core::Environment* holder = sharing_.ledger.find(environment);
    const core::Device* now = sharing_.ledger.devices().findUuid(device);
    if (holder == nullptr || holder->attachmentTo(device) == nullptr || now == nullptr ||
        !isStillUsed(*now))
        return;
    Details details = describe(now->facts);
    if (now->occupied) {
        details["pid"] = sdbus::Variant{now->occupant.pid};
        details["owner"] = sdbus::Variant{now->occupant.uid};
    }
    if (const core::Bytes amount = now->unaccounted.amount(); amount > core::Bytes{0})
        details["unaccounted-memory"] = sdbus::Variant{amount.count};
    notify(holder->uid, "device-occupied", environment, actor, std::move(details));
}

void Notices::on(const core::Detached& event) {
    if (!isNews(event.cause, event.former))
        return;
    Details details = describe(event.attachment.device);
    details["reason"] = sdbus::Variant{event.cause.reason.text()};
    notify(event.owner, "detached", event.environment, event.cause.actor, std::move(details),
           event.former);
}

void Notices::on(const core::EnvironmentRemoved& event) {
    if (isNews(event.cause, event.former))
        notify(event.owner, "ended", event.environment, event.cause.actor,
               {{"reason", sdbus::Variant{event.cause.reason.text()}}}, event.former);
}

void Notices::on(const core::EnvironmentLingers& event) {
    std::vector<core::DeviceIndex> devices;
    for (const core::DeviceFacts& device : event.devices)
        devices.push_back(device.index);
    notify(event.owner, "lingering", event.environment, 0,
           {{"pids", sdbus::Variant{event.processes}}, {"devices", sdbus::Variant{devices}}});
}

void Notices::on(const core::DeviceChanged& event) {
    if (event.field != core::DeviceField::Health)
        return;
    const core::Device& device = sharing_.ledger.device(event.index);
    if (!unwell_.isNews(device))
        return;
    for (const core::Holder& holder : device.holders) {
        const core::Environment& environment = sharing_.ledger.get(holder.environment);
        Details details = describe(device.facts);
        details["health"] = sdbus::Variant{core::toString(device.health)};
        notify(environment.uid, "device-health", environment.id, 0, std::move(details));
    }
}

void Notices::on(const core::ProcessTerminated& event) {
    if (!event.cause.isNews())
        return;
    notify(event.owner, "process-terminated", event.environment.value_or(""), event.cause.actor,
           {{"pid", sdbus::Variant{event.pid}},
            {"command", sdbus::Variant{core::printable(event.command)}},
            {"devices", sdbus::Variant{event.devices}},
            {"reason", sdbus::Variant{event.cause.reason.text()}}});
}

void Notices::on(const core::WaitGranted& event) {
    if (!event.lasted)
        return;
    std::vector<core::DeviceIndex> devices;
    for (const core::DeviceFacts& device : event.devices)
        devices.push_back(device.index);
    notify(event.owner, "granted", event.environment, event.owner,
           {{"devices", sdbus::Variant{devices}},
            {"waited", sdbus::Variant{wholeSeconds(event.waited)}}});
}

void Notices::on(const core::LeaseEnding& event) {
    Details details = event.device ? describe(*event.device) : Details{};
    details["left"] = sdbus::Variant{wholeSeconds(event.remaining)};
    notify(event.owner, "expiring", event.environment, 0, std::move(details));
}

void Notices::on(const core::MemoryFilling& event) {
    Details details = describe(event.device);
    details["used"] = sdbus::Variant{event.used.count};
    details["share"] = sdbus::Variant{event.share.count};
    notify(event.owner, "memory", event.environment, 0, std::move(details));
}

void Notices::on(const core::RuleWarning& event) {
    notify(event.user, "warning", event.environment.value_or(""), 0,
           {{"rule", sdbus::Variant{event.rule}},
            {"message", sdbus::Variant{event.message}},
            {"left", sdbus::Variant{wholeSeconds(event.remaining)}}});
}

// If isolation only watches, the refusals concern the administrator and not the user.
void Notices::on(const core::AccessRefused& event) {
    if (!event.isRefused)
        return;
    Details details = describe(event.device);
    details["pid"] = sdbus::Variant{event.pid};
    details["command"] = sdbus::Variant{core::printable(event.command)};
    details["count"] = sdbus::Variant{event.count};
    notify(event.user, "open-refused", "", 0, std::move(details));
}

void Notices::notify(core::Uid uid, const std::string& kind, const core::EnvironmentId& environment,
                     const core::Actor& actor, Details details, const core::Environment* former) {
    details["actor"] = sdbus::Variant{actor.uid};
    if (actor.login)
        details["actor-login"] = sdbus::Variant{*actor.login};
    const core::Environment* known = former != nullptr ? former : sharing_.ledger.find(environment);
    if (known != nullptr && known->configuration.name)
        details["name"] = sdbus::Variant{*known->configuration.name};
    try {
        manager_.emitNotice(uid, kind, environment, details);
    } catch (const sdbus::Error& error) {
        runtime_.log.error("a notice could not be told on the bus: {}",
                           core::escaped(error.getName()));
    }
}

} // namespace genv::dbus
