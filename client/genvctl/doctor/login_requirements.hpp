// SPDX-License-Identifier: LGPL-2.1-or-later
// Units that let users in, and that an administrator has made dependent on isolation (isolation.md,
// "When isolation fails").
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/units.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::doctor {

/// A unit that starts only after another one of genv.
struct RequiringUnit {
    std::string name;
    Unit unit;
    /// Requires genv-isolation.service itself, which restarts, and not
    /// genv-isolation-required.service.
    bool requiresLoader = false;
};

/// Returns the units that require one of the two. systemd must be on this bus. Throws CallFailed.
std::vector<RequiringUnit> unitsThatRequireIsolation(const SystemBus& bus);

/// Returns a clause about those that do not run, such as "cron.service does not run, because it
/// requires isolation"; empty if all run.
std::string stoppedClause(const std::vector<RequiringUnit>& units);

/// Returns a finding if a unit does not run, or stops with the next failure of the loader.
std::optional<DoctorFinding> judgeRequirements(const std::vector<RequiringUnit>& units);

} // namespace genv::ctl::doctor
