// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices of this machine and their holders. Device facts come from observations, holders from
// the ledger's environments. The table keeps the two consistent and makes no decisions.
#pragma once

#include "core/model/device.hpp"
#include "core/model/environment.hpp"
#include "core/model/unaccounted_memory.hpp"

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace genv::core {

/// The hold of one environment on a device.
struct Holder {
    EnvironmentId environment;
    DeviceAttachment attachment;
    bool isJob = false; ///< the environment belongs to a Slurm job
    /// The parent of the environment. The environment's hold is a part of the parent's.
    std::optional<EnvironmentId> parent = {};
    Uid owner = 0;         ///< of the environment
    bool consents = false; ///< the owner lets other users over-subscribe the device
};

/// Returns the hold of an environment by one of its attachments.
Holder holderOf(const EnvironmentRecord& environment, const DeviceAttachment& attachment);

/// A compute process that a sample found on a device.
struct Occupant {
    Pid pid = 0;
    Uid uid = 0;
};

/// The current state of a device.
struct TableDevice {
    DeviceFacts facts;
    Health health;
    DeviceReading reading;
    std::optional<WallTime> sampledAt;
    std::vector<Holder> holders; ///< oldest first; without their children
    bool occupied = false;       ///< a compute process from outside its environments uses it
    Occupant occupant{};         ///< that process, if the device is occupied
    std::map<EnvironmentId, Occupant>
        users{};                    ///< one compute process of each environment that uses it
    bool reservedForSlurm = false;  ///< listed in Devices= of [Slurm]
    std::vector<Holder> children{}; ///< the holds of the holders' children, oldest first
    /// In the table of an environment's devices: the environment's share of the memory. Unset: all
    /// of it.
    std::optional<Bytes> capacity{};
    std::string pciAddress{};  ///< empty if the driver does not report it
    bool usedByParent = false; ///< in such a table: a process of the environment itself uses it
    UnaccountedMemory unaccounted{}; ///< memory that no process accounts for

    /// Calls use(holder) for each holder, then for each of their children.
    template <typename Use>
    void forEachHolder(Use use) const {
        for (const auto* all : {&holders, &children}) {
            for (const Holder& holder : *all)
                use(holder);
        }
    }
    /// Returns the memory that can be held.
    [[nodiscard]] Bytes memory() const { return capacity.value_or(facts.totalMemory); }

    /// Returns the part of memory() that unaccounted memory leaves for shares.
    [[nodiscard]] Bytes memoryForShares() const;

    /// Returns whether something outside genv uses the device: a foreign process, or memory that no
    /// process accounts for.
    [[nodiscard]] bool isUsedOutside() const { return occupied || unaccounted.amount() > Bytes{0}; }

    /// Returns whether the device is free. This is the meaning of "free" in every list and count:
    /// nobody holds it, nothing outside genv uses it, it is healthy, and it is not reserved.
    [[nodiscard]] bool isFree() const;

    /// Returns whether only Slurm jobs can get the device: it is reserved for them, or a job holds
    /// it.
    [[nodiscard]] bool isSlurms() const;

    /// Returns the memory that no environment holds. An environment that holds the whole device
    /// holds all of its memory. If memory is unaccounted for, only what the driver has free counts.
    [[nodiscard]] Bytes availableMemory() const;
    /// Returns availableMemory(), or nothing if the memory of the device is unknown.
    [[nodiscard]] std::optional<Bytes> knownAvailableMemory() const {
        return facts.knownMemory() ? std::optional(availableMemory()) : std::nullopt;
    }

    /// Returns whether a share (unset: all of it) can be granted without over-subscription.
    [[nodiscard]] bool isAvailable(std::optional<Bytes> share) const;
};

/// The devices by index: those of the machine, or those that one environment holds and its children
/// can share.
class DeviceTable {
  public:
    /// Creates a table for the machine's devices.
    DeviceTable() = default;
    /// Creates a table of the devices that `parent` holds, with the data of the machine's table.
    /// Only the parent's children count as holders.
    DeviceTable(const DeviceTable& machine, const EnvironmentRecord& parent);

    /// The environment whose devices are in the table; unset for the machine's table.
    [[nodiscard]] const std::optional<EnvironmentId>& parent() const { return parent_; }

    [[nodiscard]] const std::map<DeviceIndex, TableDevice>& byIndex() const { return devices_; }
    [[nodiscard]] const TableDevice* find(DeviceIndex index) const;
    [[nodiscard]] const TableDevice* findUuid(std::string_view uuid) const;

    /// Returns the indices of these devices, ascending. Devices that do not exist are left out.
    [[nodiscard]] std::vector<DeviceIndex> indicesOf(const std::vector<DeviceUuid>& uuids) const;

    /// Adds a device with its holders at a free index.
    void insert(TableDevice device);
    void remove(DeviceIndex index);
    /// Returns a device for modification. Its facts must not be modified.
    TableDevice& at(DeviceIndex index) { return devices_.at(index); }

    void addHolder(const DeviceUuid& uuid, Holder holder);
    void removeHolder(const DeviceUuid& uuid, const EnvironmentId& environment);

  private:
    std::optional<EnvironmentId> parent_;
    std::map<DeviceIndex, TableDevice> devices_;
    std::unordered_map<DeviceUuid, DeviceIndex> indices_;
};

} // namespace genv::core
