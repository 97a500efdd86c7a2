// SPDX-License-Identifier: LGPL-2.1-or-later
// Readers use this part of the ledger: the environments, the devices and their holders.
#pragma once

#include "core/ledger/pool.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace genv::core {

class LedgerView {
  public:
    LedgerView(const LedgerView&) = delete;
    LedgerView& operator=(const LedgerView&) = delete;

    /// Returns the environment with this id, or null. Its address is stable until it ends, which
    /// EnvironmentRemoved reports.
    [[nodiscard]] const EnvironmentRecord* find(const EnvironmentId& id) const;
    /// Returns the environment with this id. Throws Error(NoSuchEnvironment).
    [[nodiscard]] const EnvironmentRecord& get(const EnvironmentId& id) const;
    /// Returns the environment of the Slurm job with this name, or null.
    [[nodiscard]] const EnvironmentRecord* findJob(const SlurmJobName& name) const;
    /// Returns all environments, oldest first.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentRecord>& environments() const {
        return environments_;
    }
    [[nodiscard]] const DeviceTable& devices() const { return devices_; }
    /// Returns the environments that hold a device, even if the device is missing.
    [[nodiscard]] std::vector<EnvironmentId> holdersOf(const DeviceUuid& uuid) const;
    /// Returns whether an environment of this user holds a device.
    [[nodiscard]] bool isHeldBy(const DeviceUuid& uuid, Uid user) const;
    /// Returns the device at an index. Throws Error(NoSuchDevice).
    [[nodiscard]] const TableDevice& device(DeviceIndex index) const;
    /// Returns the environment in which a process itself is registered, as a root process or
    /// Jupyter kernel, or null.
    [[nodiscard]] const EnvironmentRecord* environmentOfRoot(const ProcessIdentity& process) const;
    /// Returns the environment that a process belonged to and whose end is pending, or null.
    [[nodiscard]] const EnvironmentRecord*
    environmentOfFormer(const ProcessIdentity& process) const;
    /// Returns the environment with which a process is parked, is being parked, or resumes, or
    /// null.
    [[nodiscard]] const EnvironmentRecord*
    environmentOfParked(const ProcessIdentity& process) const;
    /// Returns whether an observation that began at `observed` says nothing about a process, since
    /// it is being parked or resumes, or was parked later.
    [[nodiscard]] bool isParked(const ProcessIdentity& process, BootTime observed) const;
    /// A lingering process leaves its environment when it is registered with another environment of
    /// the same owner, such as a program with a second "with" block. From then on its devices are
    /// those that it requests there. Returns the environment that the process leaves, without that
    /// process, or nothing if it does not linger in an environment other than `joined`.
    [[nodiscard]] std::optional<EnvironmentRecord>
    departedBy(const ProcessIdentity& process, Uid owner, const EnvironmentId& joined) const;
    /// Returns the children of an environment, oldest first.
    [[nodiscard]] std::vector<const EnvironmentRecord*> childrenOf(const EnvironmentId& id) const;
    /// Returns the parent of an environment, or null.
    [[nodiscard]] const EnvironmentRecord* parentOf(const EnvironmentRecord& environment) const {
        return environment.parent ? find(*environment.parent) : nullptr;
    }
    /// Returns whether an environment belongs to a Slurm job, or is a child of one that does.
    [[nodiscard]] bool isOfJob(const EnvironmentRecord& environment) const;
    /// Returns the devices that requests of this environment choose from.
    [[nodiscard]] Pool poolOf(const EnvironmentRecord& environment) const {
        return {*this, parentOf(environment)};
    }
    /// Returns the environments of a user, oldest first. They are valid until the ledger changes.
    [[nodiscard]] std::vector<const EnvironmentRecord*> environmentsOf(Uid uid) const;
    /// Returns the waiting requests, oldest first: ticket to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& waits() const { return waits_; }
    /// Returns a waiting request. The ticket must be one of waits().
    [[nodiscard]] const Wait& wait(std::uint64_t ticket) const;
    /// Returns the held locks: number to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& locks() const { return locks_; }
    /// Returns a free id for an environment of this process: its PID, with a suffix if that is
    /// taken.
    [[nodiscard]] EnvironmentId freeId(Pid pid) const;

  protected:
    LedgerView() = default;
    ~LedgerView() = default;

    struct OfUser {
        std::set<std::uint64_t> environments; ///< their sequence numbers
        std::size_t processes = 0;            ///< number of root processes and Jupyter kernels
        std::size_t jobs = 0;                 ///< number of environments that belong to jobs
    };

    std::map<std::uint64_t, EnvironmentRecord> environments_; ///< by order of creation
    DeviceTable devices_;

    // Indexes derived from environments_, to avoid searches.
    std::unordered_map<EnvironmentId, EnvironmentRecord*> byId_;
    std::map<Sluid, EnvironmentId> sluids_; ///< of jobs
    std::map<ProcessIdentity, EnvironmentId> roots_;
    std::map<ProcessIdentity, EnvironmentId>
        formers_; ///< members of environments whose end is pending
    std::map<ProcessIdentity, EnvironmentId> parked_;
    std::map<std::uint64_t, EnvironmentId> waits_;
    std::map<std::uint64_t, EnvironmentId> locks_;
    std::unordered_map<DeviceUuid, std::set<EnvironmentId>> holders_;
    std::unordered_map<Uid, OfUser> users_;
    std::unordered_map<EnvironmentId, std::set<std::uint64_t>>
        children_; ///< their sequence numbers
};

} // namespace genv::core
