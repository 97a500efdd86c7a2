// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/publishing/notices.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/parking/comeback.hpp"
#include "core/parking/parking_sentences.hpp"

#include <set>
#include <variant>

namespace genv::dbus {

namespace {

std::map<std::string, sdbus::Variant> describe(const core::DeviceFacts& device) {
    return {{"device", sdbus::Variant{device.index}},
            {"uuid", sdbus::Variant{device.uuid}},
            {"model", sdbus::Variant{device.model}}};
}

std::vector<core::DeviceIndex> indicesOf(const std::vector<core::DeviceFacts>& devices) {
    std::vector<core::DeviceIndex> indices;
    for (const core::DeviceFacts& device : devices)
        indices.push_back(device.index);
    return indices;
}

std::uint64_t wholeSeconds(std::chrono::microseconds time) {
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

// The owner of a job is not notified of Slurm's own actions on it.
bool isNews(const core::Cause& cause, const core::EnvironmentRecord* environment) {
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
    const core::TableDevice* device =
        sharing_.ledger.devices().findUuid(event.attachment.device.uuid);
    const core::EnvironmentRecord* environment = sharing_.ledger.find(event.environment);
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
        const core::EnvironmentRecord& other = sharing_.ledger.get(holder.environment);
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

bool Notices::isStillUsed(const core::TableDevice& device) const {
    return device.unaccounted.amount() > core::Bytes{0} ||
           (device.occupied && isAlive(machine_.processes, device.occupant.pid));
}

void Notices::warnOfOccupant(const core::Attached& event) {
    const core::DeviceUuid& device = event.attachment.device.uuid;
    const core::TableDevice* now = sharing_.ledger.devices().findUuid(device);
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
    const core::EnvironmentRecord* holder = sharing_.ledger.find(environment);
    const core::TableDevice* now = sharing_.ledger.devices().findUuid(device);
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
    const std::vector<core::DeviceIndex> devices = indicesOf(event.devices);
    Details details{{"pids", sdbus::Variant{event.processes}},
                    {"devices", sdbus::Variant{devices}}};
    const core::EnvironmentRecord* environment = sharing_.ledger.find(event.environment);
    if (environment != nullptr && environment->hasParked()) {
        std::vector<core::Pid> pids;
        for (const core::ParkedProcess& process : environment->parking->processes)
            pids.push_back(process.identity.pid);
        details["pids"] = sdbus::Variant{pids};
        details["memory"] = sdbus::Variant{environment->parking->bytes().count};
    }
    notify(event.owner, "lingering", event.environment, 0, std::move(details));
}

void Notices::on(const core::DeviceChanged& event) {
    if (event.field != core::DeviceField::Health)
        return;
    const core::TableDevice& device = sharing_.ledger.device(event.index);
    if (!unwell_.isNews(device))
        return;
    for (const core::Holder& holder : device.holders) {
        const core::EnvironmentRecord& environment = sharing_.ledger.get(holder.environment);
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

// When the turn ends, the request for which it was parked has its devices, so that it is known how
// long it may keep them.
void Notices::on(const core::EnvironmentParked& event) {
    if (core::ParkedWhy{event.reason}.resumesByItself())
        runtime_.scheduler.soon([this, event] {
            notifyOfParking(event, core::comebackOf(sharing_.queue, sharing_.ledger, runtime_.clock,
                                                    event.environment));
        });
    else
        notifyOfParking(event, std::nullopt);
}

void Notices::notifyOfParking(const core::EnvironmentParked& event,
                              const std::optional<core::WallTime>& expected) {
    Details details{{"reason", sdbus::Variant{event.reason}},
                    {"devices", sdbus::Variant{indicesOf(event.devices)}},
                    {"memory", sdbus::Variant{event.memory.count}},
                    {"took", sdbus::Variant{wholeSeconds(event.took)}}};
    if (event.taker)
        details["taker"] = sdbus::Variant{event.taker->uid};
    if (expected)
        details["expected"] = sdbus::Variant{core::toMicroseconds(*expected)};
    notify(event.owner, "parked", event.environment, event.actor, std::move(details));
}

void Notices::on(const core::EnvironmentResumed& event) {
    notify(event.owner, "resumed", event.environment, event.owner,
           {{"devices", sdbus::Variant{indicesOf(event.devices)}}});
}

void Notices::on(const core::ParkingFailed& event) {
    notify(event.owner, "parking-failed", event.environment, event.actor,
           {{"message", sdbus::Variant{event.problem}}, {"reason", sdbus::Variant{event.reason}}});
}

void Notices::on(const core::ResumeDelayed& event) {
    notify(event.owner, "resume-delayed", event.environment, 0,
           {{"message", sdbus::Variant{event.problem}}});
}

// A lost process is a fault of the driver, which also concerns the administrator.
void Notices::on(const core::ProcessLost& event) {
    for (const core::Uid uid : std::set<core::Uid>{event.owner, 0})
        notify(uid, "process-lost", event.environment, 0,
               {{"pid", sdbus::Variant{event.pid}},
                {"command", sdbus::Variant{core::printable(event.command)}},
                {"message", sdbus::Variant{event.problem}}});
}

void Notices::on(const core::ParkedTooLong& event) {
    notify(event.owner, "parked-long", event.environment, 0,
           {{"left", sdbus::Variant{wholeSeconds(event.remaining)}}});
}

void Notices::on(const core::TakingBegan& event) {
    takings_[event.ticket] = runtime_.clock.bootNow();
    std::vector<std::string> environments;
    std::set<core::DeviceIndex> devices;
    core::Bytes memory;
    for (const core::TakingVictim& victim : event.victims) {
        environments.push_back(victim.environment);
        for (const core::DeviceFacts& device : victim.devices)
            devices.insert(device.index);
        memory = memory + victim.bytes;
    }
    notify(event.owner, "taking", event.environment, event.actor,
           {{"environments", sdbus::Variant{environments}},
            {"devices",
             sdbus::Variant{std::vector<core::DeviceIndex>(devices.begin(), devices.end())}},
            {"memory", sdbus::Variant{memory.count}},
            {"left", sdbus::Variant{wholeSeconds(event.estimate)}}});
}

void Notices::on(const core::TakingEnded& event) {
    const auto began = takings_.extract(event.ticket);
    const auto took =
        began ? runtime_.clock.bootNow() - began.mapped() : std::chrono::microseconds{0};
    notify(event.owner, "taking-ended", event.environment, 0,
           {{"message", sdbus::Variant{event.why}}, {"took", sdbus::Variant{wholeSeconds(took)}}});
}

void Notices::on(const core::LoanEnding& event) {
    notify(event.owner, "loan-ending", event.environment, 0,
           {{"taker", sdbus::Variant{event.taker.uid}},
            {"left", sdbus::Variant{wholeSeconds(event.grace)}}});
}

void Notices::on(const core::WaitGranted& event) {
    if (!event.lasted)
        return;
    const std::vector<core::DeviceIndex> devices = indicesOf(event.devices);
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
                     const core::Actor& actor, Details details,
                     const core::EnvironmentRecord* former) {
    details["actor"] = sdbus::Variant{actor.uid};
    if (actor.login)
        details["actor-login"] = sdbus::Variant{*actor.login};
    const core::EnvironmentRecord* known =
        former != nullptr ? former : sharing_.ledger.find(environment);
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
