// SPDX-License-Identifier: LGPL-2.1-or-later
// The Notice signal. It tells the owner of an environment about changes by other users, rules or
// faults, and about requests that could not be met completely. Owners get no notices about their
// own changes.
#pragma once

#include "core/events.hpp"
#include "core/unwell_devices.hpp"
#include "dbus/context.hpp"
#include "dbus/manager_object.hpp"

#include <map>
#include <string>

namespace genv::dbus {

class Notices {
  public:
    /// `manager` sends the signals. All referenced objects must outlive this one.
    Notices(const Sharing& sharing, const Machine& machine, const Runtime& runtime,
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
    template <typename Other>
    void on(const Other& /*event*/) {}

    [[nodiscard]] bool isJustSampled() const;
    [[nodiscard]] bool isStillUsed(const core::Device& device) const;
    void warnOfOccupant(const core::Attached& event);
    void notifyOfOccupant(const core::EnvironmentId& environment, const core::DeviceUuid& device,
                          const core::Actor& actor);
    void notify(core::Uid uid, const std::string& kind, const core::EnvironmentId& environment,
                const core::Actor& actor, Details details,
                const core::Environment* former = nullptr);

    const Sharing& sharing_;
    const Machine& machine_;
    const Runtime& runtime_;
    ManagerObject& manager_;
    core::UnwellDevices unwell_;
};

} // namespace genv::dbus
