// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends a compute process, and only the one that was judged. The process is held first. Then an
// observation that began after that must show the same process, of the same user, still on its GPU.
// Then it gets SIGTERM, and SIGKILL if it still exists after a while. The loop itself reads nothing
// from the process, so a process that cannot be read is ended like any other.
#pragma once

#include "core/ledger/events.hpp"
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

/// The process to end, as it was when it was judged.
struct Judged {
    ProcessFacts facts;
    Uid user = 0;                    ///< the user of the process
    std::vector<DeviceUuid> devices; ///< it must still use one of them
    std::optional<EnvironmentId> environment;
    Cause cause;
    bool isRootsRequest =
        false; ///< root named this process explicitly, so the MPS server is not exempt
};

/// The result of a termination.
enum class TerminationOutcome {
    Signalled, ///< SIGTERM was sent
    Ending,    ///< SIGTERM was sent before and the process has not exited yet; SIGKILL follows when
               ///< due
    Gone,      ///< the process had exited, or its PID belongs to another process
    Changed,   ///< it belongs to another user by now, or uses none of the devices
    Protected, ///< PID 1, the service itself or the MPS server: not signalled
    Unknown,   ///< the driver did not report whether it still uses the devices; nothing was sent
};

/// Returns the outcome as a sentence for the caller of Enforce, with the level that readers of the
/// old tool expect.
std::string describe(TerminationOutcome outcome, Pid pid);

class Terminator {
  public:
    using Answer = std::function<void(TerminationOutcome)>;

    /// `self` is the service's own PID. `killAfter` is called at each use, since the configuration
    /// may change.
    Terminator(Processes& processes, Observer& observer, Scheduler& scheduler,
               const EventHub& events, Pid self,
               std::function<std::chrono::milliseconds()> killAfter);
    ~Terminator();
    Terminator(const Terminator&) = delete;
    Terminator& operator=(const Terminator&) = delete;

    /// Ends a process. `answer` is called once SIGTERM was sent, or once it is certain that no
    /// signal is sent; possibly before this function returns.
    void terminate(Judged judged, Answer answer);

    /// Returns whether a process that got SIGTERM still exists, or one may get it in a moment.
    [[nodiscard]] bool isBusy();

    /// Returns whether rules, reports and users may not end this process: the MPS server, which
    /// serves all of them.
    [[nodiscard]] bool isProtected(const ObservedProcess& process) const;
    /// Returns whether not even root may end this process by naming it: PID 1 and the service
    /// itself.
    [[nodiscard]] bool isUntouchable(const ObservedProcess& process) const;

  private:
    struct Victim;

    void signal(const std::shared_ptr<Victim>& victim, const Observation& observation,
                const Answer& answer);
    void killLater(const std::shared_ptr<Victim>& victim);
    void kill(const ProcessIdentity& process);
    void forgetExited();
    [[nodiscard]] bool isDying(const ProcessIdentity& process);

    Processes& processes_;
    Observer& observer_;
    Scheduler& scheduler_;
    const EventHub& events_;
    Pid self_;
    std::function<std::chrono::milliseconds()> killAfter_;
    std::map<ProcessIdentity, std::shared_ptr<Victim>>
        dying_;                   ///< got SIGTERM, and the exit was not reported yet
    int samples_ = 0;             ///< requested and not yet there
    std::shared_ptr<bool> alive_; ///< false once this object is gone, for late replies
};

} // namespace genv::core
