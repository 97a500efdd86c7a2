// SPDX-License-Identifier: LGPL-2.1-or-later
// Parks environments and lets them go on: carries out the steps that the ledger records, by the
// calls that a Movement decides.
//
// Invariants:
// - A step is in the environment's document before it is taken. After a crash of the service the
//   processes are asked where they are, and the step is completed or turned back.
// - Devices are detached only when every process is checkpointed.
// - A process is restored only if a sample that began after the last change shows room for it.
// - No process stays locked, and parking signals none. Only the end of a parked environment does,
//   since its processes could never go on.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/parking/movement.hpp"
#include "core/parking/preparation.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"
#include "core/settings/settings.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace genv::core {

/// How often a process that waits for room looks for it.
inline constexpr std::chrono::milliseconds roomInterval{1000};

/// How long after the timeout of a lock the helper's timer ends it, at most.
inline constexpr std::chrono::seconds helperTime{15};

/// The settings in force.
struct ParkingRules {
    std::function<const ParkingSettings&()> settings;
    std::function<std::chrono::milliseconds()> grace;     ///< from the warning to the end
    std::function<std::chrono::milliseconds()> killAfter; ///< from SIGTERM to SIGKILL
};

class Parkings {
  public:
    /// Called once: with nothing when it is done, otherwise with the error.
    using Answer = std::function<void(const std::optional<Error>& refusal)>;

    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Parkings(Ledger& ledger, const ParkingPorts& ports, const Clock& clock, Scheduler& scheduler,
             const EventHub& events, ParkingRules rules);
    ~Parkings();
    Parkings(const Parkings&) = delete;
    Parkings& operator=(const Parkings&) = delete;

    /// Continues the parkings of the restored state.
    void start();

    /// Parks an environment. Throws the errors of requireParkable(). `answer` is never called
    /// before this returns.
    void park(const EnvironmentId& id, const Actor& actor, Answer answer,
              const ParkOptions& options = {});
    /// The same for the service itself: `done` gets whether it is parked. Returns false, and does
    /// not call, if it cannot be parked.
    [[nodiscard]] bool tryToPark(const EnvironmentId& id, const Reason& reason,
                                 std::function<void(bool isParked)> done);
    /// Turns a parking back whose caller has left; its answer is not called any more. Does nothing
    /// once it is parked.
    void cancel(const EnvironmentId& id);
    /// Calls back once the processes of an environment that resumes, or was parked for others and
    /// waits for its devices, go on: with nothing, or with
    /// Error(NoSuchEnvironment) if it ends, or Error(DeviceUnavailable) if it is parked again.
    void whenResumed(const EnvironmentId& id, Answer answer);

    /// Tells a parked process to end, which never goes on then. Returns false if it has ended.
    bool endProcess(const EnvironmentId& id, const ProcessIdentity& process, const Cause& cause);

    /// Returns the moved bytes and the bytes to move; zeros if nothing moves.
    [[nodiscard]] std::pair<Bytes, Bytes> progress(const EnvironmentId& id) const;

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Handles a change of the settings.
    void settingsChanged();

  private:
    /// One environment whose processes move.
    struct Move {
        Movement movement;
        std::uint64_t sequence = 0; ///< of the environment
        BootTime began{};
        Answer parked = {};
        bool isCanceled = false;
        bool isRecovered = false; ///< the service restarted while it parked
        bool hasLost = false;     ///< the driver lost a process
        bool isLooking = false;   ///< a sample, or what follows from it, is under way
        int listings = 0;
        std::shared_ptr<const Observation> seen = {};
        /// A sample that began before this does not show whether there is room.
        BootTime changed = {};
        std::optional<BootTime> verifyAt = {}; ///< when the processes are asked once more
        std::unique_ptr<Scheduled> timer = {};
        std::unique_ptr<Scheduled> progressTimer = {};
        std::map<ProcessIdentity, Bytes> resident = {}; ///< when the current calls began
        Bytes partly = {};                              ///< moved by the current calls
        std::string reported = {};                      ///< the last problem that was told
    };
    struct Preparing {
        std::uint64_t sequence = 0;
        bool isCanceled = false;
        Answer answer;
        ParkOptions options = {};
    };
    struct LongParked {
        std::unique_ptr<Scheduled> timer;
        BootTime began; ///< when it was parked
        bool isWarned = false;
    };

    [[nodiscard]] OthersParked othersThan(const EnvironmentId& id, Uid user) const;
    void prepared(const EnvironmentId& id, const Actor& actor, Preparing& preparing,
                  const std::vector<ParkedProcess>& processes, const std::optional<Error>& error);
    void refuse(const EnvironmentId& id, const Actor& actor, const ParkOptions& options,
                const Error& error);

    Move& begin(const EnvironmentRecord& environment, Movement movement);
    Move& recover(const EnvironmentRecord& environment, Movement movement);
    [[nodiscard]] Move* moveOf(const EnvironmentId& id, std::uint64_t sequence);
    void advanceSoon(const EnvironmentId& id);
    void advance(const EnvironmentId& id);
    void noteEnded(const EnvironmentId& id, Move& move);
    void judgeRecovered(Move& move);
    [[nodiscard]] bool conclude(const EnvironmentId& id, Move& move);
    [[nodiscard]] bool mustVerify(Move& move);
    void concludePark(const EnvironmentId& id, Move& move);
    void concludeRun(const EnvironmentId& id, Move& move);
    [[nodiscard]] bool strand(const EnvironmentId& id, Move& move);
    void makeCalls(const EnvironmentId& id, Move& move);
    void answered(const EnvironmentId& id, std::uint64_t sequence, const Movement::Call& call,
                  const ParkingReply& reply);
    [[nodiscard]] bool hasRoom(const EnvironmentId& id, Move& move, const ParkedProcess& process);
    void waitForMore(const EnvironmentId& id, Move& move);
    void look(const EnvironmentId& id, Move& move);
    void looked(const EnvironmentId& id, std::uint64_t sequence,
                const std::shared_ptr<const Observation>& observation);
    void list(const EnvironmentId& id, Move& move, const Observation& observation);
    void listed(const EnvironmentId& id, std::uint64_t sequence,
                std::vector<ParkedProcess> processes, const std::optional<Error>& error);
    void checkMemory(const EnvironmentId& id, std::uint64_t sequence,
                     const std::vector<ParkedProcess>& processes, const HostMemoryReading& reading);
    template <typename Step>
    void tryTo(Move& move, Step step);
    void report(const EnvironmentId& id, Move& move, const std::string& problem);
    void pollProgress(const EnvironmentId& id, Move& move);
    void progressed(const EnvironmentId& id, std::uint64_t sequence,
                    const HostMemoryReading& reading);
    void wake(const EnvironmentId& id, Move& move, std::chrono::microseconds delay);
    void answerResumed(const EnvironmentId& id, const std::optional<Error>& error);
    void forget(const EnvironmentId& id, const Error& error);

    [[nodiscard]] std::chrono::milliseconds settleTime() const;
    void onParkingChanged(const EnvironmentId& id);
    void watchLong(const EnvironmentRecord& environment);
    void onLong(const EnvironmentId& id);
    void endProcesses(const EnvironmentRecord& environment);

    Ledger& ledger_;
    const ParkingPorts ports_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const EventHub& events_;
    const ParkingRules rules_;
    std::map<EnvironmentId, std::shared_ptr<Preparing>> preparing_;
    std::map<EnvironmentId, std::unique_ptr<Move>> moves_;
    std::map<EnvironmentId, std::vector<Answer>> resumed_;
    std::map<EnvironmentId, LongParked> long_;
    std::map<EnvironmentId, std::unique_ptr<Scheduled>> kills_;
    std::map<ProcessIdentity, std::unique_ptr<Scheduled>> singleKills_;
    std::set<EnvironmentId> scheduled_; ///< to be advanced in the next iteration
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< expires with this object
};

} // namespace genv::core
