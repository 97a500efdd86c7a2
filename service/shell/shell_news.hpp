// SPDX-License-Identifier: LGPL-2.1-or-later
// Adds sentences to the next prompt about events other than attached and detached devices:
// terminated processes, rules that act soon, unhealthy devices, memory that runs out, devices that
// the kernel refused, users who now share a device, and parking. The bus reports the same events as
// notices.
#pragma once

#include "core/devices/unwell_devices.hpp"
#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/parking/comeback.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"
#include "core/sentences/sentences.hpp"
#include "service/shell/shell_files.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace genv::service {

class ShellNews {
  public:
    /// All arguments must outlive this object and the last iteration of the loop.
    ShellNews(const core::LedgerView& ledger, const core::Clock& clock, core::Scheduler& scheduler,
              ShellFiles& files, core::Comeback comeback)
        : ledger_(ledger), clock_(clock), scheduler_(scheduler), files_(files),
          comeback_(std::move(comeback)) {}

    /// Handles an event of the ledger. The ShellFiles object must handle it first.
    void onEvent(const core::Event& event);

  private:
    using Sentence = std::function<std::string(const std::string& actor)>;

    /// Processes terminated for the same cause, collected until the end of the iteration.
    struct Termination {
        std::optional<core::EnvironmentId> environment;
        core::Uid owner = 0;
        core::Cause cause;
        core::NamedProcesses processes;
        std::set<core::DeviceIndex> devices;
    };

    void on(const core::Attached& event);
    void on(const core::DeviceChanged& event);
    void on(const core::ProcessTerminated& event);
    void on(const core::RuleWarning& event);
    void on(const core::MemoryFilling& event);
    void on(const core::AccessRefused& event);
    void on(const core::EnvironmentParked& event);
    void on(const core::EnvironmentResumed& event);
    void on(const core::ParkingFailed& event);
    void on(const core::ResumeDelayed& event);
    void on(const core::ProcessLost& event);
    void on(const core::ParkedTooLong& event);
    void on(const core::LoanEnding& event);
    template <typename Other>
    void on(const Other& /*event*/) {}

    /// Adds a sentence to the next prompt of an environment or, without one, to the prompts of all
    /// environments of the owner.
    void notify(const std::optional<core::EnvironmentId>& environment, core::Uid owner,
                const core::Cause& cause, const Sentence& sentence);
    void notifyOfFact(const core::EnvironmentId& environment, const std::string& sentence);
    void notifyOfTerminations();
    void notifyOfParking(const core::EnvironmentParked& event,
                         const std::optional<core::WallTime>& expected);

    const core::LedgerView& ledger_;
    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    ShellFiles& files_;
    const core::Comeback comeback_;
    std::vector<Termination> terminations_;
    core::UnwellDevices unwell_;
};

} // namespace genv::service
