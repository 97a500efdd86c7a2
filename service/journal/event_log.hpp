// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes one record for every grant, detach, end, wait, termination and warning, and for changes of
// devices. Administrators can thus see what happened, and programs can compute totals.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ledger/recovery.hpp"
#include "service/journal/record_queue.hpp"

#include <set>
#include <string>
#include <vector>

namespace genv::service {

class EventLog {
  public:
    /// All arguments must outlive this object.
    EventLog(const core::LedgerView& ledger, const core::Clock& clock,
             journal::RecordQueue& records)
        : ledger_(ledger), clock_(clock), records_(records) {}

    /// Handles an event of the ledger.
    void onEvent(const core::Event& event);

    /// Reports the environments and leases that ended while the service was down.
    void recovered(const core::RecoveryReport& report);

    /// Marks the devices at the start as reported. Any device that appears from now on is reported
    /// as new.
    void devicesAreKnown() { areDevicesKnown_ = true; }

    /// Reports the settings that changed when `actor` reloaded the configuration.
    void policyChanged(const std::vector<std::string>& settings, const core::Actor& actor);

  private:
    void on(const core::EnvironmentAdded& event);
    void on(const core::EnvironmentRemoved& event);
    void on(const core::EnvironmentLingers& event);
    void on(const core::Attached& event);
    void on(const core::Detached& event);
    void on(const core::AttachmentInUse& event);
    void on(const core::AttachmentIdle& event);
    void on(const core::WaitStarted& event);
    void on(const core::WaitGranted& event);
    void on(const core::WaitEnded& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::RuleWarning& event);
    void on(const core::LeaseEnding& event);
    void on(const core::DeviceAdded& event);
    void on(const core::DeviceRemoved& event);
    void on(const core::DeviceChanged& event);
    void on(const core::AccessRefused& event);
    void on(const core::IsolationChanged& event);
    void on(const core::EnvironmentParked& event);
    void on(const core::EnvironmentResumed& event);
    void on(const core::ParkingFailed& event);
    void on(const core::ResumeDelayed& event);
    void on(const core::ProcessLost& event);
    void on(const core::ParkedTooLong& event);
    void on(const core::TakingBegan& event);
    void on(const core::TakingEnded& event);
    void on(const core::LoanEnding& event);
    template <typename Other>
    void on(const Other& /*event*/) {}

    void addEnvironment(journal::Record& record, const core::EnvironmentId& id,
                        const core::EnvironmentRecord* former = nullptr) const;
    void logHealth(const core::TableDevice& device);

    const core::LedgerView& ledger_;
    const core::Clock& clock_;
    journal::RecordQueue& records_;
    bool areDevicesKnown_ = false;
    std::set<core::DeviceUuid> removedAtStart_; ///< removed at the start, perhaps only moved
};

} // namespace genv::service
