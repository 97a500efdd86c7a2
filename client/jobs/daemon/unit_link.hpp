// SPDX-License-Identifier: LGPL-2.1-or-later
// The units of attempts in the user's systemd manager. It runs and ends them, also while genv-jobs
// does not run, and says when one is gone.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/loop_bus.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace genv::jobs {

/// What a unit may use, as submitted; 0 = no limit.
struct UnitLimits {
    std::uint32_t cpus = 0;
    std::uint64_t memoryBytes = 0;
};

enum class UnitState : std::uint8_t { There, Gone };

class UnitLink {
  public:
    struct Listener {
        /// A manager has come, for the first time or after a restart: its units should be listed.
        std::function<void()> appeared;
        std::function<void()> disappeared;
        /// The unit is gone with all its processes.
        std::function<void(const AttemptName&)> gone;
    };

    /// `bus` is the user's bus, `runner` the path of genv-job.
    UnitLink(const event::LoopBus& bus, std::string runner, Listener listener);
    UnitLink(const UnitLink&) = delete;
    UnitLink& operator=(const UnitLink&) = delete;

    [[nodiscard]] bool isThere() const noexcept { return !owner_.empty(); }

    /// Starts the unit of an attempt, with a copy of `input` as its standard input. `failed` is
    /// called with a text if the manager refuses it; such a unit never runs. If the manager ends
    /// meanwhile, appeared() follows.
    void start(const AttemptName& attempt, const UnitLimits& limits, int input,
               std::function<void(const std::string&)> failed);
    /// Ends the processes of a unit. gone() follows.
    void stop(const AttemptName& attempt);
    /// Lists the units of attempts. No call of the handler: the manager has ended, and appeared()
    /// follows.
    void list(std::function<void(const std::map<AttemptName, UnitState>&)> handler);

  private:
    void onOwner(const std::string& owner);
    void onUnitRemoved(sdbus::Message& signal);
    [[nodiscard]] sdbus::MethodCall callManager(const char* member) const;

    const event::LoopBus& bus_;
    const std::string runner_;
    const Listener listener_;
    std::string owner_;
};

} // namespace genv::jobs
