// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/subjects.hpp"

#include <fmt/format.h>

namespace genv::service::journal {

std::string describe(const core::Actor& actor) {
    return fmt::format("by uid {}{}", actor.uid,
                       actor.login ? fmt::format(", logged in as uid {}", *actor.login) : "");
}

void addEnvironment(Record& record, const core::EnvironmentRecord& environment) {
    record.add(field::environment, environment.id);
    if (environment.configuration.name)
        record.add(field::environmentName, *environment.configuration.name);
    if (environment.parent)
        record.add(field::parent, *environment.parent);
    if (environment.job)
        record.add(field::job, std::uint64_t{environment.job->id});
}

void addDevice(Record& record, const core::DeviceFacts& device) {
    record.add(field::device, std::uint64_t{device.index});
    record.add(field::deviceUuid, device.uuid);
    record.add(field::deviceModel, device.model);
}

void addDevices(Record& record, const std::vector<core::DeviceFacts>& devices) {
    std::vector<std::string> indices;
    std::vector<std::string> uuids;
    for (const core::DeviceFacts& device : devices) {
        indices.push_back(std::to_string(device.index));
        uuids.push_back(device.uuid);
    }
    record.add(field::device, indices);
    record.add(field::deviceUuid, uuids);
}

void addDevices(Record& record, const core::LedgerView& ledger,
                const std::vector<core::DeviceIndex>& indices) {
    std::vector<core::DeviceFacts> devices;
    for (const core::DeviceIndex index : indices) {
        if (const core::TableDevice* device = ledger.devices().find(index))
            devices.push_back(device->facts);
    }
    addDevices(record, devices);
}

} // namespace genv::service::journal
