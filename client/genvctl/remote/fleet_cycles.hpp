// SPDX-License-Identifier: LGPL-2.1-or-later
// Enforcement cycles over many hosts. Each cycle reads all hosts, makes the decision here, and
// sends each host its part. A host that fails is left out of the cycle, and its older answers are
// not used. Its failure is reported once, and again only when it fails in another way.
#pragma once

#include "client/genvctl/remote/remote_hosts.hpp"
#include "client/remote/fleet/fleet_rules.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// A finding or action, or an action that a dry run would take.
struct FleetAction {
    std::optional<std::string> host; ///< its label; unset if it concerns all hosts
    EnforcementAction action;
};

/// The time that a host has to execute its part, in addition to the timeout of an answer. The host
/// may wait for a process to end and then kill it.
inline constexpr std::chrono::seconds timeToCarryOut{30};

class FleetCycles {
  public:
    /// The options must outlive this object. Each host must be named once.
    FleetCycles(const HostOptions& options, std::vector<remote::Host> hosts,
                remote::FleetRules rules);

    /// Runs a cycle and returns its findings, and its actions by host. Cancels the cycle as soon as
    /// the descriptor, such as a signalfd, is readable. Throws Failure for the first host that
    /// fails with -e, and if no host answers in the first cycle.
    std::vector<FleetAction> run(int stopDescriptor = -1);

    /// Returns the exit status if hosts did not execute their last part: NotAuthorized if one of
    /// them refused it.
    [[nodiscard]] std::optional<ExitStatus> failed() const;

  private:
    /// The failure of each host, reported when it begins and when it changes.
    using Troubles = std::map<std::size_t, remote::HostFailure>;

    struct Answers;
    void report(Troubles& troubles, std::size_t host, const remote::HostFailure& failure) const;
    void leaveOutSameMachines(Answers& answers);
    void reportUnknownProcesses(const Answers& answers);
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
    Troubles unjudged_; ///< hosts that cannot determine the environment of some processes
};

} // namespace genv::ctl
