// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/device_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace genv::core {

Holder holderOf(const EnvironmentRecord& environment, const DeviceAttachment& attachment) {
    return {environment.id,     attachment,      environment.job.has_value(),
            environment.parent, environment.uid, environment.configuration.overSubscribable};
}

Bytes TableDevice::memoryForShares() const {
    return std::min(memory(), unaccounted.rest().value_or(memory()));
}

bool TableDevice::isFree() const {
    return holders.empty() && !isUsedOutside() && health.state == Health::State::Ok &&
           !reservedForSlurm;
}

Bytes TableDevice::availableMemory() const {
    Bytes remaining = memoryForShares();
    for (const Holder& holder : holders) {
        const Bytes held = holder.attachment.share.value_or(remaining);
        remaining = held < remaining ? remaining - held : Bytes{0};
    }
    return std::min(remaining, unaccounted.free().value_or(remaining));
}

bool TableDevice::isAvailable(std::optional<Bytes> share) const {
    if (health.state == Health::State::Lost)
        return false;
    return share ? availableMemory() >= *share : holders.empty();
}

bool TableDevice::isSlurms() const {
    return reservedForSlurm || std::ranges::any_of(holders, &Holder::isJob);
}

DeviceTable::DeviceTable(const DeviceTable& machine, const EnvironmentRecord& parent)
    : parent_(parent.id) {
    for (const DeviceAttachment& attachment : parent.attachments) {
        const TableDevice* device = machine.findUuid(attachment.device.uuid);
        if (device == nullptr)
            continue;
        TableDevice own = *device;
        own.holders = std::exchange(own.children, {});
        std::erase_if(own.holders, [&](const Holder& child) { return child.parent != parent.id; });
        own.reservedForSlurm = false; // within the environment, the reservation no longer matters
        own.capacity = attachment.share;
        own.usedByParent = own.users.contains(parent.id);
        insert(std::move(own));
    }
}

const TableDevice* DeviceTable::find(DeviceIndex index) const {
    const auto found = devices_.find(index);
    return found == devices_.end() ? nullptr : &found->second;
}

const TableDevice* DeviceTable::findUuid(std::string_view uuid) const {
    const auto found = indices_.find(std::string(uuid));
    return found == indices_.end() ? nullptr : find(found->second);
}

std::vector<DeviceIndex> DeviceTable::indicesOf(const std::vector<DeviceUuid>& uuids) const {
    std::vector<DeviceIndex> indices;
    for (const DeviceUuid& uuid : uuids) {
        if (const TableDevice* device = findUuid(uuid))
            indices.push_back(device->facts.index);
    }
    std::sort(indices.begin(), indices.end());
    return indices;
}

void DeviceTable::insert(TableDevice device) {
    const DeviceIndex index = device.facts.index;
    indices_[device.facts.uuid] = index;
    devices_.emplace(index, std::move(device));
}

void DeviceTable::remove(DeviceIndex index) {
    const auto node = devices_.extract(index);
    indices_.erase(node.mapped().facts.uuid);
}

void DeviceTable::addHolder(const DeviceUuid& uuid, Holder holder) {
    const auto index = indices_.find(uuid);
    if (index == indices_.end())
        return;
    TableDevice& device = devices_.at(index->second);
    auto& holders = holder.parent ? device.children : device.holders;
    const auto after = std::upper_bound(holders.begin(), holders.end(), holder,
                                        [](const Holder& a, const Holder& b) {
                                            return a.attachment.sequence < b.attachment.sequence;
                                        });
    holders.insert(after, std::move(holder));
}

void DeviceTable::removeHolder(const DeviceUuid& uuid, const EnvironmentId& environment) {
    const auto index = indices_.find(uuid);
    if (index == indices_.end())
        return;
    TableDevice& device = devices_.at(index->second);
    for (auto* holders : {&device.holders, &device.children})
        std::erase_if(*holders,
                      [&](const Holder& holder) { return holder.environment == environment; });
}

} // namespace genv::core
