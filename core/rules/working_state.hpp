// SPDX-License-Identifier: LGPL-2.1-or-later
// The situation during the evaluation of rules: the running processes, without those that earlier
// rules have already found.
#pragma once

#include "core/rules/rule.hpp"

#include <set>
#include <unordered_map>
#include <utility>

namespace genv::core {

class WorkingState {
  public:
    explicit WorkingState(const Situation& situation);

    const Situation& situation;
    std::vector<RunningProcess> processes; ///< by PID
    std::vector<Finding> findings;

    /// Adds a finding. Returns its consequences; the rule may add to them until the next finding.
    Consequences& find(Rule rule, Uid user, std::optional<EnvironmentId> environment,
                       std::string subject, std::string message);

    // An action that is already a consequence is not added again.

    void end(RunningProcess& process, Consequences& consequences);
    /// Detaches a device, and ends the environment's processes on it.
    void detach(const EnvironmentRecord& environment, const DeviceUuid& device,
                Consequences& consequences);
    /// Ends an environment, its attachments and its processes on them.
    void endEnvironment(const EnvironmentRecord& environment, Consequences& consequences);

    [[nodiscard]] bool isDetached(const EnvironmentRecord& environment,
                                  const DeviceUuid& device) const {
        return detached_.contains({environment.id, device});
    }
    [[nodiscard]] bool isEnded(const EnvironmentRecord& environment) const {
        return ended_.contains(environment.id);
    }
    [[nodiscard]] bool isSlurms(const DeviceUuid& device) const;
    [[nodiscard]] std::string userName(Uid uid) const;
    [[nodiscard]] Limits limitsOf(Uid uid, const RuleSet& rules) const;
    /// Returns the devices on loan of a user that do not count towards the limits, also those that
    /// could not be parked for others: the rule max-preemptible-devices judges these.
    [[nodiscard]] std::set<DeviceUuid> freeLoansOf(Uid uid, const RuleSet& rules) const;
    /// The same among the devices of these environments.
    [[nodiscard]] static std::set<DeviceUuid>
    freeLoansOf(const std::vector<const EnvironmentRecord*>& environments, const Limits& limits);
    /// Formats the indices of devices for messages, ascending: "0,1".
    [[nodiscard]] std::string indices(const std::vector<DeviceUuid>& devices) const;
    [[nodiscard]] std::string index(const DeviceUuid& device) const { return indices({device}); }

    /// Ends the smallest number of these processes that reduces a sum by `excess`: the largest
    /// first, and as the last one the smallest that suffices; among equal ones the one that started
    /// last.
    void endFewest(const std::vector<RunningProcess*>& among, Bytes excess,
                   const std::function<Bytes(const RunningProcess&)>& size,
                   Consequences& consequences);

  private:
    std::unordered_map<const EnvironmentRecord*, std::vector<std::size_t>>
        members_; ///< indices into `processes`
    std::unordered_map<Uid, std::vector<const EnvironmentRecord*>> environments_; ///< of each user
    std::set<std::pair<EnvironmentId, DeviceUuid>> detached_;
    std::set<EnvironmentId> ended_;
};

} // namespace genv::core
