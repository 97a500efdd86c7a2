// SPDX-License-Identifier: LGPL-2.1-or-later
// The Notice signal: what the owner of an environment should hear, because somebody else, a rule or
// a fault did it, or because a request could not be met as well as it should. What people do to
// their own environments is no news to them.
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
    /// `manager` sends the signals; all outlive this.
    Notices(const Sharing& sharing, const Machine& machine, const Runtime& runtime,
            ManagerObject& manager)
        : sharing_(sharing), machine_(machine), runtime_(runtime), manager_(manager) {}

    /// Hears an event of the ledger and tells at once, so that the notices about a request come
    /// before its reply; but of a process that may be gone only after a fresh sample.
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
    void warnOfOccupant(const core::Attached& event);
    void tellOccupant(const core::EnvironmentId& environment, const core::DeviceUuid& device,
                      const core::Actor& actor);
    void tell(core::Uid uid, const std::string& kind, const core::EnvironmentId& environment,
              const core::Actor& actor, Details details, const core::Environment* former = nullptr);

    const Sharing& sharing_;
    const Machine& machine_;
    const Runtime& runtime_;
    ManagerObject& manager_;
    core::UnwellDevices unwell_;
};

} // namespace genv::dbus
