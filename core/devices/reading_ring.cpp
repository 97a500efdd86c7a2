// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/devices/reading_ring.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace genv::core {

namespace {

PastReading toPast(const DeviceReading& reading) {
    PastReading past{reading.usedMemory, reading.utilizationPercent, reading.temperatureCelsius,
                     std::nullopt};
    if (reading.powerMilliwatts &&
        *reading.powerMilliwatts < std::numeric_limits<std::uint32_t>::max())
        past.powerMilliwatts = static_cast<std::uint32_t>(*reading.powerMilliwatts);
    return past;
}

} // namespace

void ReadingRing::observed(const DeviceTable& devices, const Observation& observation) {
    if (!moments_.empty() && observation.started - moments_.back().began < minInterval)
        return;
    Moment moment{observation.started, observation.takenAt, nullptr, {}};
    Uuids uuids;
    for (const auto& [index, device] : devices.byIndex()) {
        // The readings of a device that is not in the sample are from another time.
        if (device.sampledAt != observation.takenAt)
            continue;
        uuids.push_back(device.facts.uuid);
        moment.readings.push_back(toPast(device.reading));
    }
    if (uuids.empty())
        return;
    while (!moments_.empty() && moments_.back().when >= moment.when)
        moments_.pop_back();
    if (!moments_.empty() && *moments_.back().devices == uuids)
        moment.devices = moments_.back().devices;
    else
        moment.devices = std::make_shared<const Uuids>(std::move(uuids));
    moments_.push_back(std::move(moment));
    while (moments_.size() > maxMoments ||
           moments_.back().began - moments_.front().began >= keptFor)
        moments_.pop_front();
}

std::vector<ReadingRow> ReadingRing::after(WallTime since, std::size_t maxRows,
                                           const DeviceTable& devices) const {
    std::vector<ReadingRow> rows;
    auto moment = std::ranges::upper_bound(moments_, since, {}, &Moment::when);
    for (; moment != moments_.end(); ++moment) {
        const std::size_t before = rows.size();
        for (std::size_t place = 0; place < moment->readings.size(); ++place) {
            if (const TableDevice* device = devices.findUuid((*moment->devices)[place]))
                rows.push_back({device->facts.index, moment->when, moment->readings[place]});
        }
        if (before > 0 && rows.size() > maxRows) {
            rows.resize(before);
            break;
        }
        std::sort(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(),
                  [](const ReadingRow& a, const ReadingRow& b) { return a.device < b.device; });
    }
    return rows;
}

} // namespace genv::core
