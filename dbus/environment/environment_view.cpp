// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/environment/environment_view.hpp"

#include "dbus/calls/environment_options.hpp"
#include "dbus/environment/parking_calls.hpp"

namespace genv::dbus {

std::vector<uint32_t> EnvironmentView::Processes() const {
    return readProperty([this] { return rootPids(environment_); });
}

std::vector<std::string> EnvironmentView::Kernels() const {
    return readProperty([this] {
        std::vector<std::string> ids;
        for (const core::JupyterKernel& jupyterKernel : environment_.jupyterKernels)
            ids.push_back(jupyterKernel.id);
        return ids;
    });
}

std::vector<sdbus::Struct<uint32_t, uint64_t>> EnvironmentView::Attached() const {
    return readProperty([this] {
        const auto jobEnd = environment_.jobEnd();
        std::vector<sdbus::Struct<uint32_t, uint64_t>> rows;
        for (const auto& [index, end] : environment_.deviceEnds())
            rows.emplace_back(index, jobEnd ? core::toMicroseconds(*jobEnd)
                                     : end  ? microsecondsOf(*end)
                                            : 0);
        return rows;
    });
}

uint64_t EnvironmentView::Expires() const {
    return readProperty([this]() -> uint64_t {
        if (const auto end = environment_.jobEnd())
            return core::toMicroseconds(*end);
        const auto lease = environment_.firstLease();
        return lease ? microsecondsOf(lease->until) : 0;
    });
}

// Returns the end of a lease on the wall clock.
uint64_t EnvironmentView::microsecondsOf(core::BootTime leaseEnd) const {
    const core::Clock& clock = context_.runtime.clock;
    return core::toMicroseconds(
        core::wallEnd(core::Lease{{}, leaseEnd}, clock.bootNow(), clock.wallNow()));
}

std::string EnvironmentView::State() const {
    return readProperty([this]() -> std::string { return stateOf(environment_); });
}

const core::Parking* EnvironmentView::parked() const {
    const bool isParked = environment_.isAt(core::ParkingStep::Parked) ||
                          environment_.isAt(core::ParkingStep::Ending);
    return isParked ? &*environment_.parking : nullptr;
}

std::vector<sdbus::Struct<uint32_t, uint64_t>> EnvironmentView::ParkedDevices() const {
    return readProperty([this] {
        std::vector<sdbus::Struct<uint32_t, uint64_t>> rows;
        if (const core::Parking* parking = parked()) {
            for (const core::ReleasedDevice& device : parking->devices) {
                const core::DeviceUuid& uuid = device.device.uuid;
                const core::TableDevice* now = context_.sharing.ledger.devices().findUuid(uuid);
                rows.emplace_back(now != nullptr ? now->facts.index : device.device.index,
                                  parking->bytesOn(uuid).count);
            }
        }
        return rows;
    });
}

std::string EnvironmentView::TakenBy() const {
    return readProperty([this] {
        return parked() != nullptr && parked()->taker ? parked()->taker->user : std::string();
    });
}

sdbus::Struct<uint64_t, uint64_t> EnvironmentView::ParkingProgress() const {
    return readProperty([this] {
        const auto [moved, total] = context_.sharing.parkings.progress(environment_.id);
        return sdbus::Struct<uint64_t, uint64_t>(moved.count, total.count);
    });
}

} // namespace genv::dbus
