// SPDX-License-Identifier: LGPL-2.1-or-later
// The steps of a taking. Which loans there are is in loans.cpp.
#include "core/loans/takings.hpp"

#include "core/base/duration.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::core {

Takings::Takings(Ledger& ledger, Parkings& parkings, const Clock& clock, Scheduler& scheduler,
                 const EventHub& events, Log& log, TakingRules rules)
    : ledger_(ledger), parkings_(parkings), clock_(clock), scheduler_(scheduler), events_(events),
      log_(log), rules_(std::move(rules)) {}

Takings::~Takings() = default;

void Takings::changed() {
    if (changed_)
        changed_();
}

void Takings::start() {
    for (const auto& [ticket, id] : ledger_.waits()) {
        if (takingOf(ticket) != nullptr)
            adopt(ticket);
    }
    changed();
}

const PendingTaking* Takings::takingOf(std::uint64_t ticket) const {
    if (!ledger_.waits().contains(ticket))
        return nullptr;
    const Wait& wait = ledger_.wait(ticket);
    return wait.taking ? &*wait.taking : nullptr;
}

Taker Takings::takerOf(std::uint64_t ticket) const {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    return {ticket, environment.id, environment.uid, environment.user};
}

// Returns the running taking of a request. Its victims may have changed.
Takings::Running& Takings::adopt(std::uint64_t ticket) {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const PendingTaking& taking = *takingOf(ticket);
    Running& running = running_[ticket];
    running.environment = environment.id;
    running.owner = environment.uid;
    for (const EnvironmentId& id : taking.victims) {
        const EnvironmentRecord* victim = ledger_.find(id);
        if (victim != nullptr &&
            std::ranges::find(running.victims, id, &Victim::id) == running.victims.end())
            running.victims.push_back({id, victim->sequence});
    }
    running.timer = scheduler_.after(
        std::chrono::ceil<std::chrono::milliseconds>(
            std::max<std::chrono::microseconds>(taking.deadline - clock_.bootNow(), {})),
        [this] { changed(); });
    return running;
}

void Takings::begin(std::uint64_t ticket, const TakingPlan& plan,
                    const std::vector<std::uint64_t>& overtaken) {
    const PendingTaking* before = takingOf(ticket);
    const auto time = estimate(plan);
    PendingTaking taking{plan.victims,     plan.devices, clock_.wallNow(),
                         clock_.bootNow(), time,         deadline(time)};
    if (before != nullptr) {
        taking.since = before->since;
        taking.began = before->began;
    }
    const auto runningBefore = running_.find(ticket);
    std::vector<Victim> dropped;
    ledger_.take(ticket, taking, overtaken);
    if (runningBefore != running_.end()) {
        auto& victims = runningBefore->second.victims;
        for (Victim& victim : victims) {
            if (std::ranges::find(plan.victims, victim.id) == plan.victims.end())
                dropped.push_back(std::move(victim));
        }
        std::erase_if(victims, [&](const Victim& victim) {
            return std::ranges::find(plan.victims, victim.id) == plan.victims.end();
        });
    }
    adopt(ticket);
    for (const Victim& victim : dropped)
        release(ticket, victim);
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    TakingBegan event{ticket, environment.id, environment.uid, ledger_.wait(ticket).actor,
                      {},     time,           taking.deadline};
    for (const EnvironmentId& id : plan.victims) {
        const EnvironmentRecord& victim = ledger_.get(id);
        TakingVictim row{id, victim.configuration.name.value_or(""), victim.uid, victim.user,
                         {}, memoryToMove(ledger_, victim)};
        for (const DeviceAttachment& attachment : victim.attachments)
            row.devices.push_back(attachment.device);
        event.victims.push_back(std::move(row));
    }
    if (!event.victims.empty())
        events_.emit(event);
    advance(ticket);
}

void Takings::settle() {
    std::vector<std::uint64_t> over;
    for (const auto& [ticket, running] : running_) {
        if (takingOf(ticket) == nullptr)
            over.push_back(ticket);
    }
    for (const std::uint64_t ticket : over)
        finish(ticket, "the request was canceled");
    std::erase_if(problems_,
                  [this](const auto& entry) { return !ledger_.waits().contains(entry.first); });
    std::vector<std::uint64_t> tickets;
    for (const auto& [ticket, id] : ledger_.waits()) {
        if (takingOf(ticket) != nullptr)
            tickets.push_back(ticket);
    }
    for (const std::uint64_t ticket : tickets) {
        const PendingTaking* taking = takingOf(ticket);
        if (taking == nullptr)
            continue;
        if (clock_.bootNow() >= taking->deadline) {
            expire(ticket);
            continue;
        }
        if (!running_.contains(ticket))
            adopt(ticket);
        advance(ticket);
    }
}

bool Takings::holdsAny(const EnvironmentRecord& environment, const PendingTaking& taking) const {
    return std::ranges::any_of(taking.devices, [&](const DeviceUuid& uuid) {
        return environment.attachmentTo(uuid) != nullptr;
    });
}

void Takings::advance(std::uint64_t ticket) {
    const auto running = running_.find(ticket);
    if (running == running_.end())
        return;
    for (std::size_t i = 0; i < running->second.victims.size(); ++i) {
        if (takingOf(ticket) == nullptr)
            return;
        advance(ticket, running->second.victims[i]);
    }
}

void Takings::advance(std::uint64_t ticket, Victim& victim) {
    const EnvironmentRecord* environment = ledger_.find(victim.id);
    if (environment == nullptr || environment->sequence != victim.sequence ||
        !holdsAny(*environment, *takingOf(ticket)) || victim.failure || victim.isAsked ||
        victim.ending || environment->parking || isAskedByOther(ticket, victim.id))
        return;
    park(ticket, victim);
}

bool Takings::isAskedByOther(std::uint64_t ticket, const EnvironmentId& id) const {
    return std::ranges::any_of(running_, [&](const auto& other) {
        return other.first != ticket &&
               std::ranges::any_of(other.second.victims, [&](const Victim& victim) {
                   return victim.id == id && victim.isAsked && !victim.isAnswered;
               });
    });
}

void Takings::park(std::uint64_t ticket, Victim& victim) {
    victim.isAsked = true;
    const EnvironmentId id = victim.id;
    const std::uint64_t sequence = victim.sequence;
    try {
        if (!mayPark())
            fail(ErrorCode::NotSupported,
                 "environments are parked for others only with Isolation=user, or with "
                 "WithoutIsolation=yes in [Parking]");
        parkings_.park(id, ledger_.wait(ticket).actor,
                       [this, lives = std::weak_ptr(alive_), id,
                        sequence](const std::optional<Error>& refusal) {
                           if (!lives.expired())
                               parked(id, sequence, refusal);
                       },
                       {takerOf(ticket), Reason::taken()});
    } catch (const Error& error) {
        victim.isAnswered = true; // nothing of it is under way
        failed(ticket, victim, error);
    }
}

void Takings::parked(const EnvironmentId& id, std::uint64_t sequence,
                     const std::optional<Error>& refusal) {
    const EnvironmentRecord* environment = ledger_.find(id);
    if (!refusal && environment != nullptr && environment->sequence == sequence) {
        failed_.erase(id);
        if (environment->loanFailed)
            ledger_.setLoanFailed(id, false);
    }
    // Another taking may have the same victim.
    for (auto& [ticket, running] : running_) {
        const auto victim = std::ranges::find(running.victims, id, &Victim::id);
        if (victim == running.victims.end() || victim->sequence != sequence)
            continue;
        victim->isAnswered = true;
        const PendingTaking* taking = takingOf(ticket);
        if (refusal && taking != nullptr && environment != nullptr &&
            environment->sequence == sequence && holdsAny(*environment, *taking))
            failed(ticket, *victim, *refusal);
    }
    changed();
}

// A victim that cannot be parked is left alone, or ends after a warning.
void Takings::failed(std::uint64_t ticket, Victim& victim, const Error& error) {
    const EnvironmentRecord& environment = ledger_.get(victim.id);
    const EnvironmentRecord& taker = ledger_.get(ledger_.waits().at(ticket));
    if (environment.configuration.preemptible == Preemptible::End &&
        taker.configuration.preemptible == Preemptible::No) {
        warn(ticket, victim);
        return;
    }
    victim.failure = error;
    noteFailure(environment, error);
    changed();
}

void Takings::noteFailure(const EnvironmentRecord& environment, const Error& error) {
    const EnvironmentId id = environment.id;
    const auto before = failed_.find(id);
    if (before != failed_.end() && before->second.since == clock_.bootNow())
        return; // another taking had it as well
    const auto delay =
        before == failed_.end() ? firstBackoff : std::min(2 * before->second.delay, maxBackoff);
    failed_[id] = {clock_.bootNow(), clock_.bootNow() + delay, delay};
    log_.info("environment {} could not be parked for another request: {}", id, error.what());
    if (error.code() == ErrorCode::CannotPark || error.code() == ErrorCode::NoHostMemory)
        ledger_.setLoanFailed(id, true);
}

void Takings::warn(std::uint64_t ticket, Victim& victim) {
    const auto grace = rules_.grace();
    victim.ending =
        scheduler_.after(grace, [this, ticket, id = victim.id, sequence = victim.sequence] {
            const EnvironmentRecord* environment = ledger_.find(id);
            if (takingOf(ticket) != nullptr && environment != nullptr &&
                environment->sequence == sequence && !environment->parking)
                ledger_.end(id, {Reason::preempted(), ledger_.wait(ticket).actor, true});
            changed();
        });
    const Taker taker = takerOf(ticket);
    extendDeadline(ticket, grace + rules_.killAfter() + rules_.killAfter());
    events_.emit(LoanEnding{victim.id, ledger_.get(victim.id).uid, taker, grace});
}

void Takings::extendDeadline(std::uint64_t ticket, std::chrono::milliseconds time) {
    PendingTaking taking = *takingOf(ticket);
    taking.deadline = std::max(taking.deadline, clock_.bootNow() + time);
    ledger_.setTaking(ticket, taking);
    adopt(ticket);
}

bool Takings::needsPlan(std::uint64_t ticket) const {
    const auto running = running_.find(ticket);
    return running != running_.end() &&
           std::ranges::any_of(running->second.victims,
                               [](const Victim& victim) { return victim.failure.has_value(); });
}

void Takings::end(std::uint64_t ticket, const std::string& why) {
    const auto running = running_.find(ticket);
    std::string problem = why;
    if (running != running_.end()) {
        for (const Victim& victim : running->second.victims) {
            if (problem.empty() && victim.failure)
                problem = fmt::format("environment {} could not be parked: {}", victim.id,
                                      victim.failure->what());
        }
    }
    ledger_.setTaking(ticket, std::nullopt);
    if (running != running_.end() && !running->second.victims.empty())
        problems_[ticket] = problem;
    finish(ticket, problem);
}

// Whoever is not parked by then is left alone for a while.
void Takings::expire(std::uint64_t ticket) {
    const PendingTaking& taking = *takingOf(ticket);
    const std::string why = fmt::format(
        "parking took longer than {}", formatDuration(std::chrono::floor<std::chrono::milliseconds>(
                                           taking.deadline - taking.began)));
    std::vector<EnvironmentId> late;
    if (const auto running = running_.find(ticket); running != running_.end()) {
        for (const Victim& victim : running->second.victims) {
            if (victim.isAsked && !victim.isAnswered && !victim.failure)
                late.push_back(victim.id);
        }
    }
    for (const EnvironmentId& id : late) {
        if (const EnvironmentRecord* environment = ledger_.find(id))
            noteFailure(*environment, {ErrorCode::CannotPark, why});
    }
    end(ticket, why);
}

void Takings::granted(std::uint64_t ticket) {
    problems_.erase(ticket);
    finish(ticket, "");
}

// The document of the request has no taking any more.
void Takings::finish(std::uint64_t ticket, const std::string& why) {
    const auto running = running_.extract(ticket);
    if (running.empty())
        return;
    const Running& taking = running.mapped();
    for (const Victim& victim : taking.victims)
        release(ticket, victim);
    if (!taking.victims.empty())
        events_.emit(TakingEnded{ticket, taking.environment, taking.owner, why});
}

// Turns a victim back, or lets it have its devices again if nobody got one.
void Takings::release(std::uint64_t ticket, const Victim& victim) {
    const EnvironmentRecord* environment = ledger_.find(victim.id);
    if (environment == nullptr || environment->sequence != victim.sequence)
        return;
    const bool isNeeded = std::ranges::any_of(running_, [&](const auto& other) {
        return other.first != ticket && takingOf(other.first) != nullptr &&
               std::ranges::find(other.second.victims, victim.id, &Victim::id) !=
                   other.second.victims.end();
    });
    if (environment->isAt(ParkingStep::Parked))
        giveBack(*environment);
    else if (!isNeeded && (environment->parking ? environment->parking->taker.has_value()
                                                : victim.isAsked && !victim.isAnswered)) {
        parkings_.cancel(victim.id);
        rested_[victim.id] = clock_.bootNow();
    }
}

void Takings::giveBack(const EnvironmentRecord& environment) {
    const Parking& parking = *environment.parking;
    const auto wait = std::ranges::find_if(environment.waits, &Wait::resumes);
    if (!parking.taker || wait == environment.waits.end() || wait->taking)
        return;
    PendingTaking back{{},
                       {},
                       clock_.wallNow(),
                       clock_.bootNow(),
                       std::chrono::milliseconds{0},
                       clock_.bootNow() + rules_.settings().timeout};
    for (const ReleasedDevice& device : parking.devices) {
        const TableDevice* now = ledger_.devices().findUuid(device.device.uuid);
        const bool isTaken = std::ranges::any_of(ledger_.waits(), [&](const auto& entry) {
            const PendingTaking* taking = takingOf(entry.first);
            return taking != nullptr &&
                   std::ranges::find(taking->devices, device.device.uuid) != taking->devices.end();
        });
        if (now == nullptr || !now->isAvailable(device.share) || isTaken)
            return;
        back.devices.push_back(device.device.uuid);
    }
    ledger_.setTaking(wait->ticket, back);
}

void Takings::onEvent(const Event& event) {
    if (const auto* resumed = std::get_if<EnvironmentResumed>(&event)) {
        rested_[resumed->environment] = clock_.bootNow();
    } else if (const auto* removed = std::get_if<EnvironmentRemoved>(&event)) {
        rested_.erase(removed->environment);
        failed_.erase(removed->environment);
    } else if (const auto* changed = std::get_if<EnvironmentChanged>(&event);
               changed != nullptr
                   ? changed->field == EnvironmentField::Parking
                   : std::holds_alternative<IsolationChanged>(event) ||
                         (std::holds_alternative<QueueChanged>(event) && !running_.empty())) {
        this->changed();
    }
}

std::string Takings::problemOf(std::uint64_t ticket) const {
    const auto found = problems_.find(ticket);
    return found == problems_.end() ? "" : found->second;
}

} // namespace genv::core
