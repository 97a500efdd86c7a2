// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of dev.genv.Environment: the values that one environment has now. They need no
// object on the bus.
#pragma once

#include "dbus/calls/bus_context.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <string>
#include <vector>

namespace genv::dbus {

class EnvironmentView {
  public:
    /// Both arguments must outlive this object.
    EnvironmentView(const BusContext& context, const core::EnvironmentRecord& environment)
        : context_(context), environment_(environment) {}

    // Each throws sdbus::Error for every fault.
    [[nodiscard]] std::string Id() const;
    [[nodiscard]] uint32_t Uid() const;
    [[nodiscard]] std::string User() const;
    [[nodiscard]] std::string Name() const;
    [[nodiscard]] uint64_t Created() const;
    [[nodiscard]] uint32_t Gpus() const;
    [[nodiscard]] uint64_t GpuMemory() const;
    [[nodiscard]] bool OverSubscribable() const;
    [[nodiscard]] std::string Preemptible() const;
    [[nodiscard]] std::vector<uint32_t> Processes() const;
    [[nodiscard]] std::vector<std::string> Kernels() const;
    [[nodiscard]] std::vector<uint32_t> Devices() const;
    [[nodiscard]] std::vector<sdbus::Struct<uint32_t, uint64_t>> Attached() const;
    [[nodiscard]] uint64_t Expires() const;
    [[nodiscard]] bool Lingering() const;
    [[nodiscard]] std::string Job() const;
    [[nodiscard]] std::string Parent() const;
    [[nodiscard]] std::string State() const;
    [[nodiscard]] std::vector<sdbus::Struct<uint32_t, uint64_t>> ParkedDevices() const;
    [[nodiscard]] uint64_t ParkedMemory() const;
    [[nodiscard]] uint64_t ParkedSince() const;
    [[nodiscard]] std::string ParkedReason() const;
    [[nodiscard]] std::string TakenBy() const;
    [[nodiscard]] sdbus::Struct<uint64_t, uint64_t> ParkingProgress() const;
    [[nodiscard]] std::string ParkingProblem() const;

  private:
    [[nodiscard]] uint64_t microsecondsOf(core::BootTime leaseEnd) const;

    // Returns the parking whose devices are detached, or null.
    [[nodiscard]] const core::Parking* parked() const;

    const BusContext& context_;
    const core::EnvironmentRecord& environment_;
};

} // namespace genv::dbus
