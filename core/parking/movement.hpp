// SPDX-License-Identifier: LGPL-2.1-or-later
// The transaction over the processes of one environment, as a state machine without a bus or a
// driver: which calls can be made now, and what their answers mean.
//
// Towards Goal::Park: all processes are locked at the same time. When all are locked, the caller
// lists the processes again, since new ones may have started; newcomers are locked as well. Then
// they are checkpointed, at the same time if they use no device in common. The first failure turns
// the movement back.
//
// Towards Goal::Run: a locked process is unlocked, a checkpointed one restored once there is room,
// and then unlocked. A call that fails is followed by the question at what state the process is, so
// that no process stays locked. A failed restore loses the process and is not repeated, unless the
// driver says that nothing happened.
#pragma once

#include "core/base/time.hpp"
#include "core/model/parked.hpp"
#include "core/ports/parker.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

class Movement {
  public:
    enum class Goal { Park, Run };
    /// Where a process is, as far as it is known.
    enum class Place {
        Unknown, ///< the driver must be asked
        Running,
        Locked,
        Checkpointed,
        Lost, ///< the driver cannot restore it
        Gone, ///< it has ended
    };
    struct Call {
        ParkingCall call;
        ProcessIdentity process;

        friend bool operator==(const Call&, const Call&) = default;
    };
    struct Lost {
        ParkedProcess process;
        std::string problem;
    };

    /// The processes are at this place, as far as it is known.
    Movement(Goal goal, const std::vector<ParkedProcess>& processes, Place place);

    [[nodiscard]] Goal goal() const { return goal_; }
    /// Why the movement turned back, or the last call failed, with the remedy; empty if none did.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Adds a running process, or takes the newest figures of one.
    void update(const ParkedProcess& process);
    /// Notes that another listing has shown no newcomer, so that processes may be checkpointed.
    void listed() { isListed_ = true; }
    [[nodiscard]] bool has(const ProcessIdentity& process) const {
        return members_.contains(process);
    }
    /// Notes that a process has ended.
    void exited(const ProcessIdentity& process);
    /// Changes the goal to Goal::Run. Does nothing if it is that already.
    void turnBack(const std::string& problem);
    /// Notes that a former service may have asked for locks that the driver carries out later.
    void mayLockLater();
    /// Notes that nothing is known about the processes any more, since a lock may have come later
    /// than its answer.
    void askAgain();

    /// Returns whether all processes are locked, and must be listed again before they are
    /// checkpointed.
    [[nodiscard]] bool needsListing() const;
    /// Returns the processes that could be restored if there is room.
    [[nodiscard]] std::vector<const ParkedProcess*> waitingForRoom() const;
    /// Returns the calls to make now, and notes that they are being made. `hasRoom` is asked before
    /// a process is restored.
    std::vector<Call> take(BootTime now, const std::function<bool(const ParkedProcess&)>& hasRoom);
    /// Handles the answer to a call.
    void answered(const Call& call, const ParkingReply& reply, BootTime now);

    /// Returns whether the goal is reached, and no call is being made.
    [[nodiscard]] bool isDone() const;
    [[nodiscard]] bool isCalling() const;
    /// Returns when a call that failed can be repeated, or nothing.
    [[nodiscard]] std::optional<BootTime> nextAttempt() const;
    /// Returns whether a process may still be locked later by a call whose helper failed. Other
    /// calls that come late change nothing, since each needs the state before it.
    [[nodiscard]] bool isLockOutstanding() const;
    /// Returns the lost processes, once.
    std::vector<Lost> takeLost();

    /// Returns the memory of the processes that are in host memory, and of all that move.
    [[nodiscard]] Bytes moved() const;
    [[nodiscard]] Bytes total() const;
    /// Returns the processes that are being checkpointed or restored.
    [[nodiscard]] std::vector<ProcessIdentity> moving() const;
    [[nodiscard]] std::vector<ProcessIdentity> processes() const;
    [[nodiscard]] Place placeOf(const ProcessIdentity& process) const;

  private:
    struct Member {
        ParkedProcess process;
        Place place = Place::Unknown;
        std::optional<ParkingCall> calling = {};
        int failures = 0;   ///< in a row
        int refusals = 0;   ///< of restores that changed nothing
        BootTime next = {}; ///< not before this time
        bool mayLockLater = false;
    };

    [[nodiscard]] std::optional<ParkingCall> nextCall(const Member& member) const;
    [[nodiscard]] std::optional<ParkingCall> nextCallToPark(const Member& member) const;
    [[nodiscard]] bool isDeviceBusy(const Member& member) const;
    [[nodiscard]] bool areAll(Place place, Place other) const;
    void succeeded(Member& member, ParkingCall call, const ParkingReply& reply, BootTime now);
    void failed(Member& member, ParkingCall call, const ParkingReply& reply, BootTime now);
    void failedToRun(Member& member, ParkingCall call, const ParkingReply& reply, BootTime now);
    static void noteLock(Member& member, ParkingCall call, const ParkingReply& reply);
    void lose(Member& member, std::string problem);
    void retryLater(Member& member, BootTime now);

    Goal goal_;
    std::map<ProcessIdentity, Member> members_;
    std::vector<Lost> lost_;
    std::string problem_;
    bool isListed_ = false;
};

} // namespace genv::core
