// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices of this machine and who holds them. Facts come from observations, holders from the
// ledger's environments; the table keeps both views in step and decides nothing.
#pragma once

#include "core/device.hpp"
#include "core/environment.hpp"

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace genv::core {

/// One environment's hold on a device.
struct Holder {
    EnvironmentId environment;
    Attachment attachment;
    bool isJob = false; ///< the environment is a Slurm job's
    /// The environment's parent, whose hold on the device it is a part of.
    std::optional<EnvironmentId> parent = {};
};

/// A compute process that was seen on a device.
struct Occupant {
    Pid pid = 0;
    Uid uid = 0;
};

/// A device as it is now.
struct Device {
    DeviceFacts facts;
    Health health;
    DeviceReading reading;
    std::optional<WallTime> sampledAt;
    std::vector<Holder> holders; ///< oldest first; without the children of these
    bool occupied = false;       ///< a compute process of none of its environments runs on it
    Occupant occupant{};         ///< that process, where it is occupied
    std::map<EnvironmentId, Occupant> users{}; ///< a compute process of each environment on it
    bool reservedForSlurm = false;             ///< Devices= in [Slurm] names it
    std::vector<Holder> children{}; ///< what children of the holders have of it, oldest first
    /// In a table of what an environment holds: its share of the memory; unset: all of it.
    std::optional<Bytes> capacity{};
    std::string pciAddress{};  ///< empty: the driver does not know
    bool usedByParent = false; ///< in such a table: a process of the environment itself uses it

    /// Calls use(holder) for the holders and then for their children.
    template <typename Use>
    void forEachHolder(Use use) const {
        for (const auto* all : {&holders, &children}) {
            for (const Holder& holder : *all)
                use(holder);
        }
    }
    /// The memory that there is to hold.
    [[nodiscard]] Bytes memory() const { return capacity.value_or(facts.totalMemory); }

    /// Whether genv gives it to nobody but jobs: it is reserved for them, or one holds it.
    [[nodiscard]] bool isSlurms() const;

    /// Memory that nobody holds; a holder of the whole device holds all of it.
    [[nodiscard]] Bytes availableMemory() const;

    /// Whether a share (unset: all of it) can be given without over-subscription.
    [[nodiscard]] bool isAvailable(std::optional<Bytes> share) const;
};

/// The devices, by index: the machine's, or those that one environment holds, for its children.
class DeviceTable {
  public:
    /// The machine's.
    DeviceTable() = default;
    /// An environment's, as the machine's table has them: held by its children alone.
    DeviceTable(const DeviceTable& machine, const Environment& parent);

    /// The environment whose devices these are; unset: the machine's.
    [[nodiscard]] const std::optional<EnvironmentId>& parent() const { return parent_; }

    [[nodiscard]] const std::map<DeviceIndex, Device>& byIndex() const { return devices_; }
    [[nodiscard]] const Device* find(DeviceIndex index) const;
    [[nodiscard]] const Device* findUuid(std::string_view uuid) const;

    /// The indices of these devices, ascending; without those that are not there.
    [[nodiscard]] std::vector<DeviceIndex> indicesOf(const std::vector<DeviceUuid>& uuids) const;

    /// Adds a device at an index that is free, with its holders.
    void insert(Device device);
    void remove(DeviceIndex index);
    /// A device to change; its facts must stay.
    Device& at(DeviceIndex index) { return devices_.at(index); }

    void addHolder(const DeviceUuid& uuid, Holder holder);
    void removeHolder(const DeviceUuid& uuid, const EnvironmentId& environment);

  private:
    std::optional<EnvironmentId> parent_;
    std::map<DeviceIndex, Device> devices_;
    std::unordered_map<DeviceUuid, DeviceIndex> indices_;
};

} // namespace genv::core
