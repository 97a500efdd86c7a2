// SPDX-License-Identifier: LGPL-2.1-or-later
// The Notice signal. It tells the owner of an environment about changes by other users, rules or
// faults, and about requests that could not be met completely. Owners get no notices about their
// own changes.
#pragma once

#include "core/devices/unwell_devices.hpp"
#include "core/ledger/events.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/manager/manager_object.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace genv::dbus {

class Notices {
  public:
    /// `manager` sends the signals. All referenced objects must outlive this one.
    Notices(const SharingParts& sharing, const MachineParts& machine, const Runtime& runtime,
            ManagerObject& manager)
        : sharing_(sharing), machine_(machine), runtime_(runtime), manager_(manager) {}

    /// Handles an event of the ledger. Notices are sent immediately, so that notices about a
    /// request come before its reply. A notice about a process that may be gone is only sent after
    /// a new sample.
    void onEvent(const core::Event& event);

  private:
    using Details = std::map<std::string, sdbus::Variant>;

    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::EnvironmentLingers& event);
    void on(const core::DeviceChanged& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::RuleWarning& event);
    void on(const core::AccessRefused& event);
    void on(const core::WaitGranted& event);
    void on(const core::LeaseEnding& event);
    void on(const core::MemoryFilling& event);
    void on(const core::EnvironmentParked& event);
    void on(const core::EnvironmentResumed& event);
    void on(const core::ParkingFailed& event);
    void on(const core::ResumeDelayed& event);
    void on(const core::ProcessLost& event);
    void on(const core::ParkedTooLong& event);
    void on(const core::LoanEnding& event);
    void on(const core::TakingBegan& event);
    void on(const core::TakingEnded& event);
    template <typename Other>
    void on(const Other& /*event*/) {}

    [[nodiscard]] bool isJustSampled() const;
    [[nodiscard]] bool isStillUsed(const core::TableDevice& device) const;
    void warnOfOccupant(const core::Attached& event);
    void notifyOfOccupant(const core::EnvironmentId& environment, const core::DeviceUuid& device,
                          const core::Actor& actor);
    void notifyOfParking(const core::EnvironmentParked& event,
                         const std::optional<core::WallTime>& expected);
    void notify(core::Uid uid, const std::string& kind, const core::EnvironmentId& environment,
                const core::Actor& actor, Details details,
                const core::EnvironmentRecord* former = nullptr);

    const SharingParts& sharing_;
    const MachineParts& machine_;
    const Runtime& runtime_;
    ManagerObject& manager_;
    core::UnwellDevices unwell_;
    std::map<std::uint64_t, core::BootTime> takings_; ///< when each began, by its ticket
};

} // namespace genv::dbus
