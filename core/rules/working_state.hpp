// SPDX-License-Identifier: LGPL-2.1-or-later
// The situation as rules work through it: who runs what, less what the rules before have found
// already.
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
    std::vector<RunningProcess> processes; ///< by pid
    std::vector<Finding> findings;

    /// Adds a finding. Returns its consequences, for the rule to add to until the next finding.
    Consequences& find(Rule rule, Uid user, std::optional<EnvironmentId> environment,
                       std::string subject, std::string message);

    // What is done already is not added to any consequences again.

    void end(RunningProcess& process, Consequences& consequences);
    /// Detaches, and ends the environment's processes on the device.
    void detach(const Environment& environment, const DeviceUuid& device,
                Consequences& consequences);
    /// Ends an environment, its attachments and its processes on them.
    void endEnvironment(const Environment& environment, Consequences& consequences);

    [[nodiscard]] bool isDetached(const Environment& environment, const DeviceUuid& device) const {
        return detached_.contains({environment.id, device});
    }
    [[nodiscard]] bool isEnded(const Environment& environment) const {
        return ended_.contains(environment.id);
    }
    [[nodiscard]] bool isSlurms(const DeviceUuid& device) const;
    [[nodiscard]] std::string userName(Uid uid) const;
    [[nodiscard]] Limits limitsOf(Uid uid, const RuleSet& rules) const;
    /// Indices of devices, ascending, as messages list them: "0,1".
    [[nodiscard]] std::string indices(const std::vector<DeviceUuid>& devices) const;
    [[nodiscard]] std::string index(const DeviceUuid& device) const { return indices({device}); }

    /// Ends the fewest of these processes that bring a sum down by `excess`: the largest first, and
    /// for the last place the smallest that suffices; among equals the one that started last.
    void endFewest(const std::vector<RunningProcess*>& among, Bytes excess,
                   const std::function<Bytes(const RunningProcess&)>& size,
                   Consequences& consequences);

  private:
    std::unordered_map<const Environment*, std::vector<std::size_t>> members_; ///< of processes
    std::set<std::pair<EnvironmentId, DeviceUuid>> detached_;
    std::set<EnvironmentId> ended_;
};

} // namespace genv::core
