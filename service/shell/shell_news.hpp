// SPDX-License-Identifier: LGPL-2.1-or-later
// Adds sentences to the next prompt about events other than attached and detached devices:
// terminated processes, rules that act soon, unhealthy devices, memory that runs out, devices that
// the kernel refused, and users who now share a device. The bus reports the same events as notices.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"
#include "core/sentences.hpp"
#include "core/unwell_devices.hpp"
#include "service/shell/shell_files.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace genv::service {

class ShellNews {
  public:
    /// All arguments must outlive this object and the last iteration of the loop.
    ShellNews(const core::Ledger& ledger, const core::Clock& clock, core::Scheduler& scheduler,
              ShellFiles& files)
        : ledger_(ledger), clock_(clock), scheduler_(scheduler), files_(files) {}

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
    template <typename Other>
    void on(const Other& /*event*/) {}

    /// Adds a sentence to the next prompt of an environment or, without one, to the prompts of all
    /// environments of the owner.
    void notify(const std::optional<core::EnvironmentId>& environment, core::Uid owner,
                const core::Cause& cause, const Sentence& sentence);
    void notifyOfFact(const core::EnvironmentId& environment, const std::string& sentence);
    void notifyOfTerminations();

    const core::Ledger& ledger_;
    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    ShellFiles& files_;
    std::vector<Termination> terminations_;
    core::UnwellDevices unwell_;
};

} // namespace genv::service
