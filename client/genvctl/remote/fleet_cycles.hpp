// SPDX-License-Identifier: LGPL-2.1-or-later
// Cycles of enforcement over many hosts: all are read, it is decided here what is to be done, and
// each is told its part. A host that fails is left out of the cycle: nothing is decided from what
// it said before, and it is told of once for as long as it fails in the same way.
#pragma once

#include "client/genvctl/remote/hosts.hpp"
#include "client/remote/fleet/fleet_rules.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// Something that was found, done, or would be.
struct FleetAction {
    std::optional<std::string> host; ///< its label; unset: it is about all hosts
    EnforcementAction action;
};

/// How long a host may take to carry something out, beyond the time that it has for an answer: it
/// may wait for a process to end and kill it then.
inline constexpr std::chrono::seconds timeToCarryOut{30};

class FleetCycles {
  public:
    /// The options outlive this; each host is named once.
    FleetCycles(const HostOptions& options, std::vector<remote::Host> hosts,
                remote::FleetRules rules);

    /// Runs a cycle and returns what was found and, host by host, done. As soon as the descriptor
    /// is readable, such as a signalfd, what is under way is given up. Throws Failure for the first
    /// host that fails with -e, and where no host answers in the first cycle.
    std::vector<FleetAction> run(int stopDescriptor = -1);

    /// How the command ends where hosts did not do what they were last told to: NotAuthorised where
    /// one of them refused it.
    [[nodiscard]] std::optional<ExitStatus> failed() const;

  private:
    /// What is wrong with a host, which is told when it begins and when it becomes something else.
    using Troubles = std::map<std::size_t, remote::HostFailure>;

    struct Answers;
    void tell(Troubles& troubles, std::size_t host, const remote::HostFailure& failure) const;
    void leaveOutSameMachines(Answers& answers);
    void tellOfUnknownProcesses(const Answers& answers);
    Answers read(remote::Cancellation& cancellation);
    void carryOut(const Answers& answers, const remote::FleetDecision& decision,
                  remote::Cancellation& cancellation, std::vector<FleetAction>& actions);
    template <typename Value>
    std::vector<remote::Gathered<Value>>
    gather(const std::vector<std::size_t>& which, std::chrono::milliseconds deadline,
           Troubles& troubles, remote::Cancellation& cancellation,
           const std::function<Value(std::size_t, const remote::SshBounds&)>& ask);

    const HostOptions& options_;
    std::vector<remote::Host> hosts_;
    remote::FleetRules rules_;
    bool isFirst_ = true;
    Troubles unread_;
    Troubles undone_;
    Troubles unjudged_; ///< hosts that cannot tell where some processes belong
};

} // namespace genv::ctl
