// SPDX-License-Identifier: LGPL-2.1-or-later
// What the next prompt says of what happened beside an environment's devices coming and going:
// processes that were ended, rules that act soon, devices that are not well, memory that runs out,
// devices that the kernel refused, and who shares a device now. The bus tells the same as notices.
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
    /// All outlive this, and so does the loop's last turn.
    ShellNews(const core::Ledger& ledger, const core::Clock& clock, core::Scheduler& scheduler,
              ShellFiles& files)
        : ledger_(ledger), clock_(clock), scheduler_(scheduler), files_(files) {}

    /// Hears an event of the ledger, after the files have.
    void onEvent(const core::Event& event);

  private:
    using Sentence = std::function<std::string(const std::string& actor)>;

    /// Processes that were ended for the same cause, until the turn is over.
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

    /// An environment's next prompt or, without one, that of each of its owner's.
    void tell(const std::optional<core::EnvironmentId>& environment, core::Uid owner,
              const core::Cause& cause, const Sentence& sentence);
    void tellFact(const core::EnvironmentId& environment, const std::string& sentence);
    void tellTerminations();

    const core::Ledger& ledger_;
    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    ShellFiles& files_;
    std::vector<Termination> terminations_;
    core::UnwellDevices unwell_;
};

} // namespace genv::service
