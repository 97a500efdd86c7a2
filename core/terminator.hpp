// SPDX-License-Identifier: LGPL-2.1-or-later
// Ending a compute process, and only the one that was judged: held first, then checked to be the
// same process, the same user and still on its GPU in an observation that began after that, then
// SIGTERM, and SIGKILL when it is still there after a while. The loop reads nothing of it, so a
// process that cannot be read is ended as any other.
#pragma once

#include "core/events.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// A process that is to end, as it was judged.
struct Judged {
    ProcessFacts facts;
    Uid user = 0;                    ///< whose it is
    std::vector<DeviceUuid> devices; ///< it must still use one of them
    std::optional<EnvironmentId> environment;
    Cause cause;
    bool isRootsRequest = false; ///< root named this very process: the MPS server is not spared
};

/// What became of it.
enum class TerminationOutcome {
    Signalled, ///< SIGTERM was sent
    Ending,    ///< it was sent SIGTERM before and has not exited yet; SIGKILL follows in its time
    Gone,      ///< it had exited, or had become another process
    Changed,   ///< it is another user's by now, or uses none of the devices
    Protected, ///< pid 1, the service itself or the MPS server: not signalled
    Unknown,   ///< the driver did not say whether it still uses the devices; nothing was sent
};

/// The outcome as a sentence for whoever enforces, with the level that the old tool's readers look
/// for.
std::string describe(TerminationOutcome outcome, Pid pid);

class Terminator {
  public:
    using Answer = std::function<void(TerminationOutcome)>;

    /// `self` is the service's own pid; `killAfter` is asked at each use, since it may be
    /// configured anew.
    Terminator(Processes& processes, Observer& observer, Scheduler& scheduler,
               const EventHub& events, Pid self,
               std::function<std::chrono::milliseconds()> killAfter);
    ~Terminator();
    Terminator(const Terminator&) = delete;
    Terminator& operator=(const Terminator&) = delete;

    /// Ends a process; the answer comes once SIGTERM was sent or nothing was, maybe before this
    /// returns.
    void terminate(Judged judged, Answer answer);

    /// Whether rules, reports and users may not end this process: the MPS server serves all of
    /// them.
    [[nodiscard]] bool isProtected(const ComputeProcess& process) const;
    /// Whether not even root may, who names it: pid 1 and the service itself.
    [[nodiscard]] bool isUntouchable(const ComputeProcess& process) const;

  private:
    struct Victim;

    void signal(const std::shared_ptr<Victim>& victim, const Observation& observation,
                const Answer& answer);
    void killLater(const std::shared_ptr<Victim>& victim);
    void kill(const ProcessIdentity& process);
    [[nodiscard]] bool isDying(const ProcessIdentity& process);

    Processes& processes_;
    Observer& observer_;
    Scheduler& scheduler_;
    const EventHub& events_;
    Pid self_;
    std::function<std::chrono::milliseconds()> killAfter_;
    std::map<ProcessIdentity, std::shared_ptr<Victim>> dying_; ///< signalled, and not seen gone
    std::shared_ptr<bool> alive_; ///< false once this is gone, for answers that come later
};

} // namespace genv::core
