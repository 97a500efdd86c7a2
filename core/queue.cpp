// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue.hpp"

#include "core/caps.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

constexpr std::chrono::seconds writeRetryInterval{1};

constexpr std::size_t mostHoldersNamed = 4;

bool isWanted(const AttachRequest& request, const Device& device) {
    if (const auto* indices = std::get_if<IndicesWanted>(&request.wanted))
        return std::find(indices->indices.begin(), indices->indices.end(), device.facts.index) !=
               indices->indices.end();
    if (const auto* uuid = std::get_if<UuidWanted>(&request.wanted))
        return device.facts.uuid == uuid->uuid;
    return matchesModel(device.facts, request.model);
}

// Whether one of its processes is there still; where none is, its end is about to be told.
bool hasLivingProcess(const Environment& environment) {
    const auto lives = [](const RootProcess& process) {
        return process.pin && !process.pin->hasExited();
    };
    return std::any_of(environment.processes.begin(), environment.processes.end(), lives) ||
           std::any_of(environment.kernels.begin(), environment.kernels.end(),
                       [&](const Kernel& kernel) { return lives(kernel.process); });
}

} // namespace

Queue::Queue(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events,
             Log& log, LimitsOf limitsOf)
    : ledger_(ledger), clock_(clock), scheduler_(scheduler), events_(events), log_(log),
      limitsOf_(std::move(limitsOf)) {}

void Queue::expectClients() {
    for (const auto& [ticket, environment] : ledger_.waits())
        abandoned_.insert(ticket);
    if (!abandoned_.empty())
        patience_ = scheduler_.after(patienceWithClients, [this] { giveUpOnClients(); });
}

Placement Queue::place(const AttachRequest& request, const Environment* environment,
                       bool mayWait) const {
    const Reservations kept = reservations();
    if (mayWait)
        return placeOrWait(request, ledger_.devices(), environment, kept);
    try {
        return core::place(request, ledger_.devices(), environment, kept);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::DeviceUnavailable)
            throw;
        throw Error(error.code(), error.what() + holders(request));
    }
}

bool Queue::stillHolds(const Placement& placement, const Environment* environment) const {
    return core::stillHolds(placement, ledger_.devices(), environment, reservations());
}

void Queue::requireRoom(Uid owner, Uid actor) const {
    if (actor == 0)
        return;
    const auto count =
        std::count_if(ledger_.waits().begin(), ledger_.waits().end(), [&](const auto& waiting) {
            return ledger_.get(waiting.second).uid == owner;
        });
    if (static_cast<std::size_t>(count) >= caps::waitsPerUser)
        fail(ErrorCode::LimitsExceeded,
             "a user may wait for devices {} times at once; let one wait end first",
             caps::waitsPerUser);
}

std::optional<Queue::Ticket> Queue::abandoned(const EnvironmentId& environment,
                                              const AttachRequest& request) const {
    const auto found = std::find_if(abandoned_.begin(), abandoned_.end(), [&](Ticket ticket) {
        return ledger_.waits().at(ticket) == environment && ledger_.wait(ticket).request == request;
    });
    return found == abandoned_.end() ? std::nullopt : std::optional(*found);
}

bool Queue::isAbandoned(const EnvironmentId& environment) const {
    return std::any_of(abandoned_.begin(), abandoned_.end(), [&](Ticket ticket) {
        return ledger_.waits().at(ticket) == environment && ledger_.wait(ticket).startsEnvironment;
    });
}

void Queue::await(Ticket ticket, UserInfo owner, std::optional<std::chrono::milliseconds> timeout,
                  Answer answer) {
    abandoned_.erase(ticket);
    Waiter waiter{ledger_.waits().at(ticket), std::move(owner), std::move(answer), nullptr};
    if (timeout)
        waiter.timeout = scheduler_.after(*timeout, [this, ticket, limit = *timeout] {
            refuse(ticket, {ErrorCode::Timeout,
                            fmt::format("no device became free within {}", formatDuration(limit))});
        });
    waiters_.insert_or_assign(ticket, std::move(waiter));
    schedule();
}

void Queue::cancel(Ticket ticket) {
    waiters_.erase(ticket);
    abandoned_.erase(ticket);
    ledger_.endWait(ticket, Reason::cancelled());
}

void Queue::onEvent(const Event& event) {
    if (const auto* removed = std::get_if<EnvironmentRemoved>(&event))
        forget(removed->environment);
    if (ledger_.waits().empty())
        return;
    // Whatever may make a device free, or change who comes first.
    const auto* device = std::get_if<DeviceChanged>(&event);
    if (std::holds_alternative<Detached>(event) || std::holds_alternative<QueueChanged>(event) ||
        std::holds_alternative<DeviceAdded>(event) ||
        std::holds_alternative<DeviceRemoved>(event) ||
        (device != nullptr && device->field != DeviceField::LockedBy))
        schedule();
}

void Queue::forget(const EnvironmentId& environment) {
    std::erase_if(abandoned_, [&](Ticket ticket) { return !ledger_.waits().contains(ticket); });
    // The answers come after the change is told.
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        if (waiter->second.environment != environment || ledger_.waits().contains(waiter->first)) {
            ++waiter;
            continue;
        }
        scheduler_.soon([answer = std::move(waiter->second.answer), environment] {
            answer(Error(ErrorCode::NoSuchEnvironment,
                         fmt::format("environment {} ended while it waited", environment)));
        });
        waiter = waiters_.erase(waiter);
    }
}

void Queue::giveUpOnClients() {
    for (const Ticket ticket : std::exchange(abandoned_, {}))
        ledger_.endWait(ticket, Reason::cancelled());
}

Reservations Queue::reservations() const {
    Reservations reservations;
    for (const auto& [ticket, id] : ledger_.waits())
        reserve(ledger_.wait(ticket), ledger_.get(id), reservations);
    return reservations;
}

// What an earlier one could have now is kept for it; what it could use of less, too.
void Queue::reserve(const Wait& wait, const Environment& environment,
                    Reservations& reservations) const {
    try {
        const Placement placement =
            core::place(wait.request, ledger_.devices(), &environment, reservations);
        for (const Placement::Device& device : placement.attach) {
            if (!device.overSubscribed)
                reservations.add(device.facts.uuid, wait.request.share);
        }
    } catch (const Error&) {
        reserveFor(wait.request, ledger_.devices(), &environment, reservations);
    }
}

void Queue::schedule() {
    if (!std::exchange(scheduled_, true))
        scheduler_.soon([this] {
            scheduled_ = false;
            serve();
        });
}

void Queue::serve() {
    Reservations reservations;
    std::vector<Ticket> tickets;
    for (const auto& [ticket, id] : ledger_.waits())
        tickets.push_back(ticket);
    for (const Ticket ticket : tickets) {
        if (ledger_.waits().contains(ticket)) // or it ended by what was done for one before
            serve(ticket, reservations);
    }
}

void Queue::serve(Ticket ticket, Reservations& reservations) {
    const Wait& wait = ledger_.wait(ticket);
    const Environment& environment = ledger_.get(ledger_.waits().at(ticket));
    const auto waiter = waiters_.find(ticket);
    if (waiter == waiters_.end() || !hasLivingProcess(environment)) {
        reserve(wait, environment, reservations);
        return;
    }
    try {
        Placement placement =
            core::place(wait.request, ledger_.devices(), &environment, reservations);
        const QuotaViolation violation =
            wait.exempt
                ? std::nullopt
                : admitAttachment(ledger_, environment, limitsOf_(waiter->second.owner), placement);
        if (violation)
            refuse(ticket, {ErrorCode::QuotaExceeded, *violation});
        else
            grant(ticket, std::move(placement));
    } catch (const Error& error) {
        if (error.code() == ErrorCode::DeviceUnavailable ||
            error.code() == ErrorCode::StorageFailed) {
            waiter->second.lasted = true;
            reserve(wait, environment, reservations);
        } else {
            refuse(ticket, error);
        }
    }
}

void Queue::grant(Ticket ticket, Placement placement) {
    placement.detach.clear(); // who has more by now than was asked for keeps it
    const Environment& before = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    WaitGranted granted{before.id,  before.uid, {},   clock_.wallNow() - wait.since,
                        wait.actor, wait.since, false};
    for (const Placement::Device& device : placement.attach)
        granted.devices.push_back(device.facts);
    try {
        ledger_.grant(ticket, placement);
    } catch (const Error& error) {
        // Nothing changed, so it waits on, and what it would have had is tried again.
        log_.error("a waiting request could not be granted: {}", error.what());
        retry_ = scheduler_.after(writeRetryInterval, [this] { schedule(); });
        throw;
    }
    const Waiter waiter = std::move(waiters_.extract(ticket).mapped());
    granted.lasted = waiter.lasted;
    events_.tell(granted);
    waiter.answer(std::nullopt);
}

void Queue::refuse(Ticket ticket, const Error& error) {
    auto node = waiters_.extract(ticket);
    if (node.empty())
        return;
    const Answer answer = std::move(node.mapped().answer);
    ledger_.endWait(ticket,
                    error.code() == ErrorCode::Timeout ? Reason::timeout() : Reason::refused());
    answer(error);
}

std::string Queue::holders(const AttachRequest& request) const {
    std::string text;
    std::size_t named = 0;
    std::size_t more = 0;
    for (const auto& [index, device] : ledger_.devices().byIndex()) {
        if (!isWanted(request, device))
            continue;
        for (const Claim& claim : device.claims) {
            if (++named > mostHoldersNamed) {
                ++more;
                continue;
            }
            text += fmt::format("{} GPU {} is held by {} (environment {}) since {}",
                                text.empty() ? ";" : ",", index,
                                escaped(ledger_.get(claim.environment).user), claim.environment,
                                formatLocalTime(claim.attachment.since));
        }
    }
    return more == 0 ? text : text + fmt::format(" and {} more", more);
}

} // namespace genv::core
