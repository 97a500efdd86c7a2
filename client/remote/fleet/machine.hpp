// SPDX-License-Identifier: LGPL-2.1-or-later
// A snapshot as core's rules see a machine: a ledger on nothing, an observation, and the rules'
// working state over both. Device "N" of the snapshot has a UUID that sorts as N does.
#pragma once

#include "client/remote/fleet/fleet_rules.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/store.hpp"
#include "core/rules/working_state.hpp"

#include <map>
#include <set>

namespace genv::remote {

/// Keeps nothing.
class NoStore : public core::Store {
  public:
    void write(const core::EnvironmentId& /*id*/, const std::string& /*document*/) override {}
    void remove(const core::EnvironmentId& /*id*/) override {}
    std::vector<Found> readAll() override { return {}; }
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override { return id; }
    void setAside(const std::string& /*name*/, const std::string& /*why*/) override {}
};

/// Stands still: no rule that is evaluated here is about time.
class StillClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override { return {}; }
    [[nodiscard]] core::BootTime bootNow() const override {
        return core::BootTime{std::chrono::microseconds{1}};
    }
};

/// What a rule takes from a user on a machine.
struct Removal {
    std::string rule; ///< its name
    core::Uid user = 0;
    core::Consequences consequences{};
};

class Machine {
  public:
    /// The host outlives this.
    explicit Machine(const FleetHost& host);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    [[nodiscard]] core::WorkingState& state() { return *state_; }
    [[nodiscard]] const core::Ledger& ledger() const { return ledger_; }
    /// The name of a user, as the snapshot or else the number has it; empty for one whose
    /// environment is not listed any more.
    [[nodiscard]] std::string userName(core::Uid uid) const;
    [[nodiscard]] core::DeviceIndex indexOf(const core::DeviceUuid& device) const;

    std::vector<Removal> removals; ///< of all rules, in the order in which they are evaluated

  private:
    void restoreEnvironments(const FleetHost& host);
    void observe(const FleetHost& host);
    void observeProcess(const Snapshot::Process& process, core::Uid uid);

    NoStore store_;
    StillClock clock_;
    core::EventHub events_;
    core::Ledger ledger_{store_, clock_, events_};
    core::Observation seen_;
    core::Idleness idleness_;
    std::map<core::Uid, core::UserInfo> users_;
    std::optional<core::Situation> situation_;
    std::optional<core::WorkingState> state_;
};

} // namespace genv::remote
