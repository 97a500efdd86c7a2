// SPDX-License-Identifier: LGPL-2.1-or-later
// How the processes of an environment move: one step of Parkings::advance() after another, each as
// soon as the answer before it has come.
#include "core/parking/parkings.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
constexpr const char* restarted =
    "the service was restarted while it parked the environment; park it again";

bool isAttachedTo(const EnvironmentRecord& environment, const ParkedProcess& process) {
    return std::ranges::all_of(process.uses, [&](const ParkedUse& use) {
        return environment.attachmentTo(use.device) != nullptr;
    });
}

std::vector<DeviceFacts> factsOf(const Parking& parking) {
    std::vector<DeviceFacts> facts;
    for (const ReleasedDevice& device : parking.devices)
        facts.push_back(device.device);
    return facts;
}

} // namespace

Parkings::Move& Parkings::begin(const EnvironmentRecord& environment, Movement movement) {
    auto move = std::make_unique<Move>(Move{std::move(movement), environment.sequence});
    move->began = move->changed = clock_.bootNow();
    Move& stored = *move;
    moves_[environment.id] = std::move(move);
    advanceSoon(environment.id);
    return stored;
}

// Returns null if the environment has ended, or parking is over.
Parkings::Move* Parkings::moveOf(const EnvironmentId& id, std::uint64_t sequence) {
    const auto found = moves_.find(id);
    if (found == moves_.end() || found->second->sequence != sequence)
        return nullptr;
    const EnvironmentRecord* environment = ledger_.find(id);
    return environment != nullptr && environment->sequence == sequence && environment->parking
               ? found->second.get()
               : nullptr;
}

void Parkings::advanceSoon(const EnvironmentId& id) {
    if (scheduled_.insert(id).second)
        scheduler_.soon([this, id] {
            scheduled_.erase(id);
            advance(id);
        });
}

void Parkings::advance(const EnvironmentId& id) {
    const auto found = moves_.find(id);
    Move* move = found == moves_.end() ? nullptr : moveOf(id, found->second->sequence);
    if (move == nullptr || ledger_.get(id).isAt(ParkingStep::Ending))
        return;
    if (ledger_.get(id).pendingEnd) // its last process has ended
        return;
    const std::uint64_t sequence = move->sequence;
    noteEnded(id, *move);
    move = moveOf(id, sequence);
    if (move == nullptr) // it has ended with its last process
        return;
    if (move->isRecovered)
        judgeRecovered(*move);
    const Movement& movement = move->movement;
    if (movement.goal() == Movement::Goal::Run && ledger_.get(id).isAt(ParkingStep::Parking))
        ledger_.undoParking(id, movement.problem());
    if (conclude(id, *move) || strand(id, *move))
        return;
    makeCalls(id, *move);
    waitForMore(id, *move);
}

// Takes note of processes that ended, and reports those that the driver lost.
void Parkings::noteEnded(const EnvironmentId& id, Move& move) {
    const std::uint64_t sequence = move.sequence;
    for (const Movement::Lost& lost : move.movement.takeLost()) {
        const Uid owner = ledger_.get(id).uid;
        move.hasLost = true;
        events_.emit(
            ProcessLost{id, owner, lost.process.identity.pid, lost.process.command, lost.problem});
        ledger_.setParkingProblem(id, lost.problem);
        ledger_.dropParked(id, lost.process.identity);
        if (moveOf(id, sequence) == nullptr)
            return;
    }
    const Parking& parking = *ledger_.get(id).parking;
    for (const ProcessIdentity& process : move.movement.processes()) {
        if (parking.find(process) == nullptr)
            move.movement.exited(process);
    }
}

// After a restart of the service, a parking is completed if all its processes have moved, and
// otherwise turned back.
void Parkings::judgeRecovered(Move& move) {
    bool isKnown = true;
    for (const ProcessIdentity& process : move.movement.processes()) {
        const Movement::Place place = move.movement.placeOf(process);
        if (place == Movement::Place::Running || place == Movement::Place::Locked)
            move.movement.turnBack(restarted);
        isKnown = isKnown && place != Movement::Place::Unknown;
    }
    if (isKnown)
        move.movement.listed();
}

bool Parkings::conclude(const EnvironmentId& id, Move& move) {
    if (!move.movement.isDone() || move.isLooking)
        return false;
    if (move.movement.goal() == Movement::Goal::Park) {
        try {
            ledger_.concludeParking(id);
        } catch (const Error& error) {
            move.movement.turnBack(error.what());
            advanceSoon(id);
            return true;
        }
        if (ledger_.find(id) != nullptr) // else nothing kept it alive but its devices
            concludePark(id, move);
        return true;
    }
    if (mustVerify(move)) {
        if (!move.movement.isDone())
            return false;
        wake(id, move, *move.verifyAt - clock_.bootNow());
        return true;
    }
    concludeRun(id, move);
    return true;
}

// Returns whether the processes must be asked once more, since a lock may come later than its
// answer; asks when it is time.
bool Parkings::mustVerify(Move& move) {
    const BootTime now = clock_.bootNow();
    if (!move.movement.isLockOutstanding())
        return false;
    if (!move.verifyAt)
        move.verifyAt = now + settleTime();
    if (now < *move.verifyAt)
        return true;
    move.verifyAt.reset();
    move.movement.askAgain();
    return !move.movement.isDone();
}

void Parkings::concludePark(const EnvironmentId& id, Move& move) {
    const EnvironmentRecord& environment = ledger_.get(id);
    const Parking& parking = *environment.parking;
    const EnvironmentParked event{id,
                                  environment.uid,
                                  parking.actor,
                                  parking.reason,
                                  factsOf(parking),
                                  parking.bytes(),
                                  clock_.bootNow() - move.began,
                                  parking.taker};
    const Answer answer = std::move(move.parked);
    moves_.erase(id);
    events_.emit(event);
    events_.emit(EnvironmentChanged{id, EnvironmentField::ParkingProgress});
    if (answer)
        answer(std::nullopt);
}

void Parkings::concludeRun(const EnvironmentId& id, Move& move) {
    const EnvironmentRecord& environment = ledger_.get(id);
    const Parking& parking = *environment.parking;
    const bool isUndone = parking.step == ParkingStep::Undoing;
    const Event event = isUndone ? Event(ParkingFailed{id, environment.uid, parking.actor,
                                                       move.movement.problem(), parking.reason})
                                 : Event(EnvironmentResumed{id, environment.uid, factsOf(parking),
                                                            clock_.bootNow() - parking.began});
    const bool isNews = !isUndone || !environment.parkingProblem.empty();
    const Error failure(ErrorCode::CannotPark, environment.parkingProblem);
    const Answer answer = std::move(move.parked);
    const bool hasLost = move.hasLost;
    moves_.erase(id);
    answerResumed(id, std::nullopt);
    if (!isUndone && !hasLost)
        ledger_.setParkingProblem(id, "");
    ledger_.concludeResume(id);
    if (isNews)
        events_.emit(event);
    events_.emit(EnvironmentChanged{id, EnvironmentField::ParkingProgress});
    if (answer)
        answer(failure);
}

// Parks an environment again whose last waiting processes lack a device that it lost.
bool Parkings::strand(const EnvironmentId& id, Move& move) {
    if (move.movement.goal() != Movement::Goal::Run || move.movement.isCalling() || move.isLooking)
        return false;
    const EnvironmentRecord& environment = ledger_.get(id);
    std::vector<ProcessIdentity> stranded;
    for (const ParkedProcess& process : environment.parking->processes) {
        const Movement::Place place = move.movement.placeOf(process.identity);
        if (place == Movement::Place::Checkpointed && !isAttachedTo(environment, process))
            stranded.push_back(process.identity);
        else if (place != Movement::Place::Running)
            return false;
    }
    if (stranded.empty())
        return false;
    const Error error(ErrorCode::DeviceUnavailable,
                      fmt::format("environment {} lost a GPU that its processes need; it is parked "
                                  "until they can have it again",
                                  id));
    const Answer answer = std::move(move.parked);
    moves_.erase(id);
    ledger_.parkAgain(id, stranded, error.what());
    events_.emit(EnvironmentChanged{id, EnvironmentField::ParkingProgress});
    if (answer)
        answer(error);
    answerResumed(id, error);
    return true;
}

void Parkings::makeCalls(const EnvironmentId& id, Move& move) {
    const auto calls = move.movement.take(
        clock_.bootNow(), [&](const ParkedProcess& process) { return hasRoom(id, move, process); });
    const std::uint64_t sequence = move.sequence;
    for (const Movement::Call& call : calls) {
        const ParkedProcess& process = *ledger_.get(id).parking->find(call.process);
        ports_.parker.call(
            call.call, {call.process, process.uids.real}, rules_.settings().lockTimeout,
            [this, lives = std::weak_ptr(alive_), id, sequence, call](const ParkingReply& reply) {
                if (!lives.expired())
                    answered(id, sequence, call, reply);
            });
    }
    if (!move.movement.moving().empty() && !move.progressTimer)
        pollProgress(id, move);
}

void Parkings::answered(const EnvironmentId& id, std::uint64_t sequence, const Movement::Call& call,
                        const ParkingReply& reply) {
    Move* move = moveOf(id, sequence);
    if (move == nullptr)
        return;
    const BootTime now = clock_.bootNow();
    if (call.call == ParkingCall::Restore || call.call == ParkingCall::Checkpoint) {
        move->changed = now;
        move->resident.erase(call.process);
        move->partly = {};
    }
    move->movement.answered(call, reply, now);
    if (move->movement.goal() == Movement::Goal::Run && reply.failure)
        report(id, *move, move->movement.problem());
    events_.emit(EnvironmentChanged{id, EnvironmentField::ParkingProgress});
    advance(id);
}

bool Parkings::hasRoom(const EnvironmentId& id, Move& move, const ParkedProcess& process) {
    if (!move.seen || move.seen->started < move.changed || !isAttachedTo(ledger_.get(id), process))
        return false;
    const std::string problem = deviceRoomProblem(*move.seen, process);
    if (!problem.empty())
        report(id, move, problem);
    return problem.empty();
}

// Tells the owner what is in the way, once, and the caller who wanted to park.
void Parkings::report(const EnvironmentId& id, Move& move, const std::string& problem) {
    if (problem.empty() || std::exchange(move.reported, problem) == problem)
        return;
    const EnvironmentRecord& environment = ledger_.get(id);
    const bool isUndoing = environment.isAt(ParkingStep::Undoing);
    const std::string why =
        isUndoing && !move.movement.problem().empty() && move.movement.problem() != problem
            ? fmt::format("{}; {}", move.movement.problem(), problem)
            : problem;
    const Uid owner = environment.uid;
    if (!environment.isAt(ParkingStep::Parking))
        ledger_.setParkingProblem(id, why);
    if (environment.isAt(ParkingStep::Resuming) || isUndoing)
        events_.emit(ResumeDelayed{id, owner, why});
    if (isUndoing && move.parked)
        std::exchange(move.parked, {})(Error(ErrorCode::CannotPark, why));
}

void Parkings::waitForMore(const EnvironmentId& id, Move& move) {
    const Movement& movement = move.movement;
    const bool waits = !movement.waitingForRoom().empty();
    if (move.isLooking)
        return;
    if (movement.needsListing() || (waits && (!move.seen || move.seen->started < move.changed))) {
        look(id, move);
    } else if (waits) {
        move.timer = scheduler_.after(roomInterval, [this, id, &move] {
            move.seen.reset();
            advanceSoon(id);
        });
    } else if (const auto next = movement.nextAttempt()) {
        wake(id, move, *next - clock_.bootNow());
    }
}

void Parkings::wake(const EnvironmentId& id, Move& move, microseconds delay) {
    move.timer = scheduler_.after(
        std::chrono::ceil<milliseconds>(std::max<microseconds>(delay, milliseconds{1})),
        [this, id] { advanceSoon(id); });
}

} // namespace genv::core
