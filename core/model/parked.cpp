// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/parked.hpp"

#include <algorithm>

namespace genv::core {

Bytes ParkedProcess::bytes() const {
    Bytes sum{0};
    for (const ParkedUse& use : uses)
        sum = sum + use.bytes;
    return sum;
}

bool ParkedProcess::isOn(const DeviceUuid& device) const {
    return std::ranges::any_of(uses, [&](const ParkedUse& use) { return use.device == device; });
}

const ParkedProcess* Parking::find(const ProcessIdentity& process) const {
    const auto found = std::ranges::find(processes, process, &ParkedProcess::identity);
    return found == processes.end() ? nullptr : &*found;
}

const ReleasedDevice* Parking::find(const DeviceUuid& device) const {
    const auto found = std::ranges::find_if(
        devices, [&](const ReleasedDevice& parked) { return parked.device.uuid == device; });
    return found == devices.end() ? nullptr : &*found;
}

Bytes Parking::bytes() const {
    Bytes sum{0};
    for (const ParkedProcess& process : processes)
        sum = sum + process.bytes();
    return sum;
}

Bytes Parking::bytesOn(const DeviceUuid& device) const {
    Bytes sum{0};
    for (const ParkedProcess& process : processes) {
        for (const ParkedUse& use : process.uses)
            sum = sum + (use.device == device ? use.bytes : Bytes{0});
    }
    return sum;
}

AttachRequest requestToResume(const Parking& parking) {
    AttachRequest request;
    UuidsWanted wanted;
    for (const ReleasedDevice& device : parking.devices)
        wanted.uuids.push_back(device.device.uuid);
    request.wanted = std::move(wanted);
    if (!parking.devices.empty())
        request.share = parking.devices.front().share;
    return request;
}

} // namespace genv::core
