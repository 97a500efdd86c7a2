// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of a limit: who is above it, and what happens to them. A reload logs it, and `genvctl
// policy check` prints it before the limit is in force.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/limits/limit_use.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/users.hpp"
#include "core/settings/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

/// Returns what a rule does and when: "it ends after 30s". `acts` is the part before the time.
std::string actionOfRule(std::string_view acts, const Settings& settings);

/// Returns a sentence for each limit that a user exceeds, in the order of genvd.conf. `uses` has
/// the limits of these settings for the user.
std::vector<std::string> describeOverLimits(const std::string& user,
                                            const std::vector<LimitUse>& uses,
                                            const Settings& settings);

struct OverLimitSources {
    const LedgerView& ledger;
    const Observer& observer;
    Users& users;
    const Idleness& idleness;
    const Clock& clock;
    Log& log;
};

/// Logs who exceeds a limit that differs from `before`. With another value of KeepGrants=, every
/// limit differs. The sources must outlive the look-up of the users.
void logOverLimits(const OverLimitSources& from, const Settings& before, const Settings& settings);

} // namespace genv::core
