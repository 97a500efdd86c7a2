// SPDX-License-Identifier: LGPL-2.1-or-later
// A snapshot in the form in which core's rules see a machine, and the rules' working state. The
// UUID of device "N" in the snapshot sorts in the same order as N.
#pragma once

#include "client/remote/fleet/fleet_rules.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"
#include "core/rules/working_state.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace genv::remote {

/// The devices and processes that a rule takes from a user on a machine.
struct Removal {
    std::string rule; ///< the name of the rule
    core::Uid user = 0;
    core::Consequences consequences{};
};

class HostSituation {
  public:
    /// The host must outlive this object.
    explicit HostSituation(const FleetHost& host);
    HostSituation(const HostSituation&) = delete;
    HostSituation& operator=(const HostSituation&) = delete;

    [[nodiscard]] core::WorkingState& state() { return *state_; }
    [[nodiscard]] const std::map<std::uint64_t, core::EnvironmentRecord>& environments() const {
        return environments_;
    }
    [[nodiscard]] const core::DeviceTable& devices() const { return devices_; }
    /// Returns the name of a user from the snapshot, or the uid as text. Empty for a user whose
    /// environment is no longer listed.
    [[nodiscard]] std::string userName(core::Uid uid) const;
    [[nodiscard]] core::DeviceIndex indexOf(const core::DeviceUuid& device) const;

    std::vector<Removal> removals; ///< of all rules, in the order in which the rules are evaluated

  private:
    void addEnvironment(const std::string& id, core::Uid uid, const std::string& user);
    void addAttachments(const Snapshot& snapshot);
    void addEndedEnvironments(const Snapshot& snapshot);
    void addProcesses(const FleetHost& host);

    core::DeviceTable devices_;
    std::map<std::uint64_t, core::EnvironmentRecord>
        environments_; ///< in the order of the snapshot
    std::unordered_map<std::string, core::EnvironmentRecord*> byId_;
    std::map<core::Uid, core::UserInfo> users_;
    std::vector<core::ObservedProcess> processes_; ///< by PID
    const core::Idleness idleness_; ///< empty, because a snapshot does not contain it
    core::Situation situation_{environments_, devices_, {}, idleness_, users_, {}};
    std::optional<core::WorkingState> state_;
};

} // namespace genv::remote
