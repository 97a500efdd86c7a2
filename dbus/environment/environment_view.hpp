// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of dev.genv.Environment: the values that one environment has now. They need no
// object on the bus.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/handlers.hpp"

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
    [[nodiscard]] std::string Id() const { return environment_.id; }
    [[nodiscard]] uint32_t Uid() const {
        return readProperty([this] { return environment_.uid; });
    }
    [[nodiscard]] std::string User() const {
        return readProperty([this] { return environment_.user; });
    }
    [[nodiscard]] std::string Name() const {
        return readProperty([this] { return environment_.configuration.name.value_or(""); });
    }
    [[nodiscard]] uint64_t Created() const {
        return readProperty([this] { return core::toMicroseconds(environment_.created); });
    }
    [[nodiscard]] uint32_t Gpus() const {
        return readProperty([this] { return environment_.configuration.gpus.value_or(0); });
    }
    [[nodiscard]] uint64_t GpuMemory() const {
        return readProperty(
            [this] { return environment_.configuration.gpuMemory.value_or(core::Bytes{0}).count; });
    }
    [[nodiscard]] bool OverSubscribable() const {
        return readProperty([this] { return environment_.configuration.overSubscribable; });
    }
    [[nodiscard]] std::string Preemptible() const {
        return readProperty(
            [this] { return core::toString(environment_.configuration.preemptible); });
    }
    [[nodiscard]] std::vector<uint32_t> Processes() const;
    [[nodiscard]] std::vector<std::string> Kernels() const;
    [[nodiscard]] std::vector<uint32_t> Devices() const {
        return readProperty([this] { return environment_.deviceIndices(); });
    }
    [[nodiscard]] std::vector<sdbus::Struct<uint32_t, uint64_t>> Attached() const;
    [[nodiscard]] uint64_t Expires() const;
    [[nodiscard]] bool Lingering() const {
        return readProperty([this] { return environment_.isLingering(); });
    }
    [[nodiscard]] std::string Job() const {
        return readProperty([this] {
            return environment_.job ? std::to_string(environment_.job->id) : std::string();
        });
    }
    [[nodiscard]] std::string Parent() const {
        return readProperty([this] { return environment_.parent.value_or(""); });
    }
    [[nodiscard]] std::string State() const;
    [[nodiscard]] std::vector<sdbus::Struct<uint32_t, uint64_t>> ParkedDevices() const;
    [[nodiscard]] uint64_t ParkedMemory() const {
        return readProperty([this] { return parked() != nullptr ? parked()->bytes().count : 0; });
    }
    [[nodiscard]] uint64_t ParkedSince() const {
        return readProperty(
            [this] { return parked() != nullptr ? core::toMicroseconds(parked()->since) : 0; });
    }
    [[nodiscard]] std::string ParkedReason() const {
        return readProperty(
            [this] { return parked() != nullptr ? parked()->reason : std::string(); });
    }
    [[nodiscard]] std::string TakenBy() const;
    [[nodiscard]] sdbus::Struct<uint64_t, uint64_t> ParkingProgress() const;
    [[nodiscard]] std::string ParkingProblem() const {
        return readProperty([this] { return environment_.parkingProblem; });
    }

  private:
    [[nodiscard]] uint64_t microsecondsOf(core::BootTime leaseEnd) const;

    // Returns the parking whose devices are detached, or null.
    [[nodiscard]] const core::Parking* parked() const;

    const BusContext& context_;
    const core::EnvironmentRecord& environment_;
};

} // namespace genv::dbus
