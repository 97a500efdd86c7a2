// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/parking/movement.hpp"

#include "core/parking/problems.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

using std::chrono::seconds;

constexpr seconds firstRetry{1};
constexpr seconds lastRetry{30};
/// How often the driver may refuse, with nothing changed, before a process counts as lost.
constexpr int maxRefusals = 5;

// Returns where a process is in this state. Unknown states are those of newer drivers, on the way
// from one to another.
Movement::Place placeIn(CheckpointState state) {
    switch (state) {
    case CheckpointState::Running:
        return Movement::Place::Running;
    case CheckpointState::Locked:
        return Movement::Place::Locked;
    case CheckpointState::Checkpointed:
        return Movement::Place::Checkpointed;
    case CheckpointState::Failed:
        return Movement::Place::Lost;
    case CheckpointState::Unknown:
        break;
    }
    return Movement::Place::Unknown;
}

Movement::Place placeAfter(ParkingCall call) {
    switch (call) {
    case ParkingCall::Lock:
    case ParkingCall::Restore:
        return Movement::Place::Locked;
    case ParkingCall::Checkpoint:
        return Movement::Place::Checkpointed;
    case ParkingCall::Unlock:
        return Movement::Place::Running;
    case ParkingCall::State:
        break;
    }
    return Movement::Place::Unknown;
}

// Returns whether a call with this fault did nothing to the process.
bool isRefusal(ParkingFault fault) {
    switch (fault) {
    case ParkingFault::OldDriver:
    case ParkingFault::NoLibrary:
    case ParkingFault::NotInitialized:
    case ParkingFault::NotSupported:
    case ParkingFault::NotPermitted:
    case ParkingFault::Container:
    case ParkingFault::Owner:
        return true;
    default:
        return false;
    }
}

bool isOver(Movement::Place place) {
    return place == Movement::Place::Lost || place == Movement::Place::Gone;
}

bool shareDevice(const ParkedProcess& a, const ParkedProcess& b) {
    return std::ranges::any_of(a.uses, [&](const ParkedUse& use) { return b.isOn(use.device); });
}

bool movesMemory(const std::optional<ParkingCall>& call) {
    return call == ParkingCall::Checkpoint || call == ParkingCall::Restore;
}

} // namespace

Movement::Movement(Goal goal, const std::vector<ParkedProcess>& processes, Place place)
    : goal_(goal) {
    for (const ParkedProcess& process : processes)
        members_.emplace(process.identity, Member{process, place});
}

void Movement::update(const ParkedProcess& process) {
    const auto [member, isNew] =
        members_.try_emplace(process.identity, Member{process, Place::Running});
    if (isNew)
        isListed_ = false;
    else
        member->second.process.uses = process.uses;
}

void Movement::exited(const ProcessIdentity& process) {
    if (const auto found = members_.find(process); found != members_.end())
        found->second.place = Place::Gone;
}

void Movement::turnBack(const std::string& problem) {
    if (std::exchange(goal_, Goal::Run) == Goal::Park)
        problem_ = problem;
}

void Movement::mayLockLater() {
    for (auto& [identity, member] : members_)
        member.mayLockLater = true;
}

bool Movement::isLockOutstanding() const {
    return std::ranges::any_of(members_, [](const auto& entry) {
        return entry.second.mayLockLater && !isOver(entry.second.place);
    });
}

void Movement::askAgain() {
    for (auto& [identity, member] : members_) {
        member.mayLockLater = false;
        if (!isOver(member.place) && !member.calling) {
            member.place = Place::Unknown;
            member.failures = 0;
            member.next = {};
        }
    }
}

bool Movement::areAll(Place place, Place other) const {
    return std::ranges::all_of(members_, [&](const auto& entry) {
        const Member& member = entry.second;
        return isOver(member.place) ||
               (!member.calling && (member.place == place || member.place == other));
    });
}

bool Movement::needsListing() const {
    return goal_ == Goal::Park && !isListed_ && areAll(Place::Locked, Place::Checkpointed);
}

bool Movement::isDeviceBusy(const Member& member) const {
    return std::ranges::any_of(members_, [&](const auto& entry) {
        return movesMemory(entry.second.calling) &&
               shareDevice(entry.second.process, member.process);
    });
}

std::optional<ParkingCall> Movement::nextCallToPark(const Member& member) const {
    if (member.place == Place::Running)
        return ParkingCall::Lock;
    const bool areLocked = std::ranges::all_of(members_, [](const auto& entry) {
        const Place place = entry.second.place;
        return isOver(place) || place == Place::Locked || place == Place::Checkpointed;
    });
    if (member.place == Place::Locked && isListed_ && areLocked && !isDeviceBusy(member))
        return ParkingCall::Checkpoint;
    return std::nullopt;
}

std::optional<ParkingCall> Movement::nextCall(const Member& member) const {
    if (member.calling || isOver(member.place))
        return std::nullopt;
    if (member.place == Place::Unknown)
        return ParkingCall::State;
    if (goal_ == Goal::Park)
        return nextCallToPark(member);
    if (member.place == Place::Locked)
        return ParkingCall::Unlock;
    if (member.place == Place::Checkpointed && !isDeviceBusy(member))
        return ParkingCall::Restore;
    return std::nullopt;
}

std::vector<const ParkedProcess*> Movement::waitingForRoom() const {
    std::vector<const ParkedProcess*> waiting;
    for (const auto& [identity, member] : members_) {
        if (nextCall(member) == ParkingCall::Restore)
            waiting.push_back(&member.process);
    }
    return waiting;
}

std::vector<Movement::Call>
Movement::take(BootTime now, const std::function<bool(const ParkedProcess&)>& hasRoom) {
    std::vector<Call> calls;
    for (auto& [identity, member] : members_) {
        const auto call = nextCall(member);
        if (!call || member.next > now ||
            (call == ParkingCall::Restore && !hasRoom(member.process)))
            continue;
        member.calling = call;
        calls.push_back({*call, identity});
    }
    return calls;
}

void Movement::answered(const Call& call, const ParkingReply& reply, BootTime now) {
    const auto found = members_.find(call.process);
    if (found == members_.end())
        return;
    Member& member = found->second;
    member.calling.reset();
    if (member.place == Place::Gone)
        return;
    noteLock(member, call.call, reply);
    if (reply.failure)
        failed(member, call.call, reply, now);
    else
        succeeded(member, call.call, reply, now);
}

// A process that is or was locked has had its lock.
void Movement::noteLock(Member& member, ParkingCall call, const ParkingReply& reply) {
    if (reply.state == CheckpointState::Locked || reply.state == CheckpointState::Checkpointed)
        member.mayLockLater = false;
    else if (call == ParkingCall::Lock && reply.failure &&
             (reply.failure->fault == ParkingFault::Deadline ||
              reply.failure->fault == ParkingFault::Helper))
        member.mayLockLater = true;
}

void Movement::succeeded(Member& member, ParkingCall call, const ParkingReply& reply,
                         BootTime now) {
    const Place place = reply.state ? placeIn(*reply.state) : placeAfter(call);
    if (place == Place::Lost) {
        lose(member, "the driver reports that it failed");
        return;
    }
    member.place = place;
    if (place == Place::Unknown) {
        retryLater(member, now);
        return;
    }
    member.failures = 0;
    member.next = {};
    if (call == ParkingCall::Lock)
        isListed_ = false;
}

void Movement::failed(Member& member, ParkingCall call, const ParkingReply& reply, BootTime now) {
    const ParkingFailure& failure = *reply.failure;
    if (failure.fault == ParkingFault::Gone) {
        member.place = Place::Gone;
        return;
    }
    // Without CUDA there is nothing that could be locked: the process runs another program now.
    if (failure.fault == ParkingFault::NotInitialized && call != ParkingCall::Lock) {
        member.place = Place::Running;
        return;
    }
    const std::string problem = describeProblem(call, failure, member.process);
    const bool turns = goal_ == Goal::Park;
    turnBack(problem);
    if (call == ParkingCall::Lock && isRefusal(failure.fault) && !reply.state) {
        member.place = Place::Running;
        return;
    }
    if (turns || call == ParkingCall::Lock || call == ParkingCall::Checkpoint) {
        member.place = reply.state && *reply.state != CheckpointState::Failed
                           ? placeIn(*reply.state)
                           : Place::Unknown;
        return;
    }
    problem_ = problem;
    failedToRun(member, call, reply, now);
}

void Movement::failedToRun(Member& member, ParkingCall call, const ParkingReply& reply,
                           BootTime now) {
    const ParkingFault fault = reply.failure->fault;
    const bool isFailed = reply.state == CheckpointState::Failed;
    if (isFailed || (call == ParkingCall::Restore && fault == ParkingFault::OutOfMemory)) {
        lose(member, problem_);
        return;
    }
    // The driver refuses every call for a process that it lost, also the question.
    const bool isRefused = fault == ParkingFault::NotPermitted;
    const bool isRestore = call == ParkingCall::Restore;
    if ((isRefused ||
         (isRestore && fault != ParkingFault::Deadline && fault != ParkingFault::Helper)) &&
        ++member.refusals >= maxRefusals) {
        lose(member, problem_);
        return;
    }
    member.place = Place::Unknown;
    retryLater(member, now);
}

void Movement::lose(Member& member, std::string problem) {
    member.place = Place::Lost;
    lost_.push_back({member.process, std::move(problem)});
}

void Movement::retryLater(Member& member, BootTime now) {
    const int doublings = std::min(member.failures++, 5);
    member.next =
        now + std::min<std::chrono::microseconds>(firstRetry * (1 << doublings), lastRetry);
}

bool Movement::isCalling() const {
    return std::ranges::any_of(members_,
                               [](const auto& entry) { return entry.second.calling.has_value(); });
}

bool Movement::isDone() const {
    const Place wanted = goal_ == Goal::Park ? Place::Checkpointed : Place::Running;
    return !isCalling() && areAll(wanted, wanted) && (goal_ == Goal::Run || isListed_);
}

std::optional<BootTime> Movement::nextAttempt() const {
    std::optional<BootTime> first;
    for (const auto& [identity, member] : members_) {
        if (nextCall(member) && member.next != BootTime{} && (!first || member.next < *first))
            first = member.next;
    }
    return first;
}

std::vector<Movement::Lost> Movement::takeLost() {
    return std::exchange(lost_, {});
}

Bytes Movement::moved() const {
    Bytes sum{0};
    for (const auto& [identity, member] : members_) {
        if (member.place == Place::Checkpointed)
            sum = sum + member.process.bytes();
    }
    return sum;
}

Bytes Movement::total() const {
    Bytes sum{0};
    for (const auto& [identity, member] : members_)
        sum = sum + (isOver(member.place) ? Bytes{0} : member.process.bytes());
    return sum;
}

std::vector<ProcessIdentity> Movement::moving() const {
    std::vector<ProcessIdentity> processes;
    for (const auto& [identity, member] : members_) {
        if (movesMemory(member.calling))
            processes.push_back(identity);
    }
    return processes;
}

std::vector<ProcessIdentity> Movement::processes() const {
    std::vector<ProcessIdentity> processes;
    for (const auto& [identity, member] : members_)
        processes.push_back(identity);
    return processes;
}

Movement::Place Movement::placeOf(const ProcessIdentity& process) const {
    const auto found = members_.find(process);
    return found == members_.end() ? Place::Gone : found->second.place;
}

} // namespace genv::core
