// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests to park, the events of the ledger, and the end of parked environments. How processes
// move is in moves.cpp.
#include "core/parking/parkings.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

Parkings::Parkings(Ledger& ledger, const ParkingPorts& ports, const Clock& clock,
                   Scheduler& scheduler, const EventHub& events, ParkingRules rules)
    : ledger_(ledger), ports_(ports), clock_(clock), scheduler_(scheduler), events_(events),
      rules_(std::move(rules)) {}

Parkings::~Parkings() = default;

void Parkings::start() {
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (!environment.parking)
            continue;
        const std::vector<ParkedProcess>& processes = environment.parking->processes;
        switch (environment.parking->step) {
        case ParkingStep::Parking:
            recover(environment, {Movement::Goal::Park, processes, Movement::Place::Unknown})
                .isRecovered = true;
            break;
        case ParkingStep::Undoing:
            recover(environment, {Movement::Goal::Run, processes, Movement::Place::Unknown});
            break;
        case ParkingStep::Resuming:
            begin(environment, {Movement::Goal::Run, processes, Movement::Place::Unknown});
            break;
        case ParkingStep::Parked:
            watchLong(environment);
            break;
        case ParkingStep::Ending:
            endProcesses(environment);
            break;
        }
    }
}

// Begins a movement of which the former service may have made calls.
Parkings::Move& Parkings::recover(const EnvironmentRecord& environment, Movement movement) {
    movement.mayLockLater();
    Move& move = begin(environment, std::move(movement));
    move.verifyAt = clock_.bootNow() + settleTime();
    return move;
}

std::chrono::milliseconds Parkings::settleTime() const {
    return rules_.settings().lockTimeout + helperTime;
}

OthersParked Parkings::othersThan(const EnvironmentId& id, Uid user) const {
    OthersParked others;
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (!environment.parking || environment.id == id)
            continue;
        const Bytes bytes = environment.parking->bytes();
        others.all = others.all + bytes;
        if (environment.uid == user)
            others.ofUser = others.ofUser + bytes;
        const auto move = moves_.find(environment.id);
        if (move != moves_.end() && environment.isAt(ParkingStep::Parking))
            others.moving =
                others.moving + (move->second->movement.total() - move->second->movement.moved());
    }
    return others;
}

void Parkings::park(const EnvironmentId& id, const Actor& actor, Answer answer,
                    const ParkOptions& options) {
    const EnvironmentRecord& environment = ledger_.get(id);
    requireParkable(ledger_, environment, rules_.settings());
    if (preparing_.contains(id))
        fail(ErrorCode::Busy, "environment {} is being parked already", id);
    const auto preparing = std::make_shared<Preparing>(
        Preparing{environment.sequence, false, std::move(answer), options});
    preparing_[id] = preparing;
    std::make_shared<Preparation>(
        ledger_, ports_, environment, rules_.settings,
        [this, id, user = environment.uid] { return othersThan(id, user); },
        [this, lives = std::weak_ptr(alive_), id, actor, preparing](
            const std::vector<ParkedProcess>& processes, const std::optional<Error>& error) {
            if (!lives.expired() && !preparing->isCanceled)
                prepared(id, actor, *preparing, processes, error);
        })
        ->start();
}

bool Parkings::tryToPark(const EnvironmentId& id, const Reason& reason,
                         std::function<void(bool isParked)> done) {
    try {
        park(id, {}, [done = std::move(done)](const auto& refusal) { done(!refusal); },
             {std::nullopt, reason});
        return true;
    } catch (const Error&) {
        return false;
    }
}

void Parkings::prepared(const EnvironmentId& id, const Actor& actor, Preparing& preparing,
                        const std::vector<ParkedProcess>& processes,
                        const std::optional<Error>& error) {
    preparing_.erase(id);
    try {
        if (error)
            throw Error(*error);
        ledger_.beginParking(id, processes, actor, preparing.options);
    } catch (const Error& refusal) {
        refuse(id, actor, preparing.options, refusal);
        preparing.answer(refusal);
        return;
    }
    Move& move =
        begin(ledger_.get(id), {Movement::Goal::Park, processes, Movement::Place::Running});
    move.parked = std::move(preparing.answer);
}

// Remembers and reports why an environment cannot be parked.
void Parkings::refuse(const EnvironmentId& id, const Actor& actor, const ParkOptions& options,
                      const Error& error) {
    const EnvironmentRecord* environment = ledger_.find(id);
    if (environment == nullptr ||
        (error.code() != ErrorCode::CannotPark && error.code() != ErrorCode::NoHostMemory))
        return;
    const Uid owner = environment->uid;
    ledger_.setParkingProblem(id, error.what());
    const Reason reason = options.reason.value_or(Cause::request(actor, owner).reason);
    events_.emit(ParkingFailed{id, owner, actor, error.what(), reason.text()});
}

void Parkings::cancel(const EnvironmentId& id) {
    if (const auto preparing = preparing_.find(id); preparing != preparing_.end()) {
        preparing->second->isCanceled = true;
        preparing->second->answer = {};
        preparing_.erase(preparing);
        return;
    }
    const auto move = moves_.find(id);
    if (move == moves_.end() || move->second->movement.goal() != Movement::Goal::Park)
        return;
    move->second->isCanceled = true;
    move->second->parked = {};
    move->second->movement.turnBack("");
    advanceSoon(id);
}

void Parkings::whenResumed(const EnvironmentId& id, Answer answer) {
    const EnvironmentRecord& environment = ledger_.get(id);
    if (environment.isAt(ParkingStep::Resuming) || environment.awaitsResume())
        resumed_[id].push_back(std::move(answer));
    else
        scheduler_.soon([answer = std::move(answer)] { answer(std::nullopt); });
}

void Parkings::answerResumed(const EnvironmentId& id, const std::optional<Error>& error) {
    const auto answers = resumed_.extract(id);
    if (answers.empty())
        return;
    for (const Answer& answer : answers.mapped())
        scheduler_.soon([answer, error] { answer(error); });
}

// Forgets an environment whose processes move, or that is parked.
void Parkings::forget(const EnvironmentId& id, const Error& error) {
    if (const auto move = moves_.extract(id); !move.empty() && move.mapped()->parked)
        scheduler_.soon([answer = move.mapped()->parked, error] { answer(error); });
    answerResumed(id, error);
    long_.erase(id);
}

void Parkings::onEvent(const Event& event) {
    if (const auto* removed = std::get_if<EnvironmentRemoved>(&event)) {
        forget(removed->environment,
               {ErrorCode::NoSuchEnvironment,
                fmt::format("environment {} has ended", removed->environment)});
        kills_.erase(removed->environment);
    } else if (const auto* changed = std::get_if<EnvironmentChanged>(&event);
               changed != nullptr && changed->field == EnvironmentField::Parking) {
        onParkingChanged(changed->environment);
    } else if (const auto* detached = std::get_if<Detached>(&event)) {
        if (moves_.contains(detached->environment))
            advanceSoon(detached->environment);
    }
}

// Never changes the ledger, since it handles one of its events.
void Parkings::onParkingChanged(const EnvironmentId& id) {
    const EnvironmentRecord& environment = ledger_.get(id);
    if (!environment.parking) {
        forget(id, {ErrorCode::NoSuchProcess,
                    fmt::format("all processes of environment {} have ended", id)});
        return;
    }
    if (moves_.contains(id))
        advanceSoon(id);
    else if (environment.isAt(ParkingStep::Resuming))
        begin(environment,
              {Movement::Goal::Run, environment.parking->processes, Movement::Place::Unknown});
    if (environment.isAt(ParkingStep::Parked))
        watchLong(environment);
    else
        long_.erase(id);
    if (environment.isAt(ParkingStep::Ending) && !kills_.contains(id)) {
        kills_[id] = nullptr; // until the processes have been signalled
        scheduler_.soon([this, id, sequence = environment.sequence] {
            const EnvironmentRecord* ending = ledger_.find(id);
            if (ending == nullptr || ending->sequence != sequence ||
                !ending->isAt(ParkingStep::Ending))
                return;
            forget(id, {ErrorCode::NoSuchEnvironment, fmt::format("environment {} is over", id)});
            endProcesses(*ending);
        });
    }
}

// The time of an environment that others' requests parked does not run: it waits for its devices.
void Parkings::watchLong(const EnvironmentRecord& environment) {
    if (environment.awaitsResume()) {
        long_.erase(environment.id);
        return;
    }
    const auto known = long_.find(environment.id);
    if (known != long_.end() && known->second.began == environment.parking->began)
        return;
    const auto left =
        environment.parking->began + rules_.settings().maxParkedTime - clock_.bootNow();
    LongParked& parked = long_[environment.id];
    parked = LongParked{nullptr, environment.parking->began, false};
    parked.timer = scheduler_.after(
        std::chrono::ceil<std::chrono::milliseconds>(
            std::max<std::chrono::microseconds>(left, std::chrono::microseconds{0})),
        [this, id = environment.id] { onLong(id); });
}

void Parkings::onLong(const EnvironmentId& id) {
    const EnvironmentRecord* environment = ledger_.find(id);
    const auto found = long_.find(id);
    if (environment == nullptr || found == long_.end() || !environment->isAt(ParkingStep::Parked) ||
        environment->awaitsResume())
        return;
    LongParked& parked = found->second;
    if (std::exchange(parked.isWarned, true)) {
        ledger_.end(id, {Reason::expired(), 0, true});
        return;
    }
    const auto grace = rules_.grace();
    parked.timer = scheduler_.after(grace, [this, id] { onLong(id); });
    events_.emit(ParkedTooLong{id, environment->uid, grace});
}

void Parkings::settingsChanged() {
    std::erase_if(long_, [](const auto& entry) { return !entry.second.isWarned; });
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (environment.isAt(ParkingStep::Parked))
            watchLong(environment);
    }
}

namespace {

void signalAll(const std::vector<ParkedProcess>& processes, TerminationSignal signal) {
    for (const ParkedProcess& process : processes) {
        if (process.pin && !process.pin->hasExited() && process.pin->hasUids(process.uids))
            process.pin->signal(signal);
    }
}

} // namespace

bool Parkings::endProcess(const EnvironmentId& id, const ProcessIdentity& process,
                          const Cause& cause) {
    const EnvironmentRecord* environment = ledger_.find(id);
    const ParkedProcess* parked = environment != nullptr && environment->parking
                                      ? environment->parking->find(process)
                                      : nullptr;
    if (parked == nullptr || !parked->pin || parked->pin->hasExited())
        return false;
    const std::vector<ParkedProcess> one{*parked};
    signalAll(one, TerminationSignal::Terminate);
    std::erase_if(singleKills_, [this](const auto& kill) {
        return ledger_.environmentOfParked(kill.first) == nullptr;
    });
    singleKills_[process] =
        scheduler_.after(rules_.killAfter(), [one] { signalAll(one, TerminationSignal::Kill); });
    events_.emit(ProcessTerminated{process.pid, one[0].command, one[0].uids.real, id, {}, cause});
    return true;
}

// Ends the processes of a parked environment that was ended: they could never go on.
void Parkings::endProcesses(const EnvironmentRecord& environment) {
    const std::vector<ParkedProcess> processes = environment.parking->processes;
    const EnvironmentId id = environment.id;
    const Cause cause{Reason::stored(environment.parking->reason), environment.parking->actor,
                      true};
    signalAll(processes, TerminationSignal::Terminate);
    kills_[id] = scheduler_.after(rules_.killAfter(),
                                  [processes] { signalAll(processes, TerminationSignal::Kill); });
    for (const ParkedProcess& process : processes)
        events_.emit(ProcessTerminated{
            process.identity.pid, process.command, process.uids.real, id, {}, cause});
}

} // namespace genv::core
