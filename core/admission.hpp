// SPDX-License-Identifier: LGPL-2.1-or-later
// Admission: whether what is asked for stays within an administrator's limits. The same numbers are
// watched by rules; here they are refused before anything is given.
#pragma once

#include "core/holdings.hpp"
#include "core/ledger.hpp"
#include "core/limits.hpp"
#include "core/placement.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// Why something would go over a limit: a sentence with the limit's name and number. Nothing where
/// it would not.
using QuotaViolation = std::optional<std::string>;

/// What a user waits for and is `kept` for them counts as theirs, once: a placement that uses it
/// does not add to it.
using KeptForUser = std::vector<KeptDevice>;

// A plan counts with its placement, also where it waits for it.

/// A new environment of a user, and what it would get.
QuotaViolation admitActivation(const Ledger& ledger, const UserInfo& owner, const Limits& limits,
                               const std::optional<Plan>& plan, const KeptForUser& kept = {});

/// More devices for an environment; a plan that only gives back is always within limits.
QuotaViolation admitAttachment(const Ledger& ledger, const Environment& environment,
                               const Limits& limits, const Plan& plan,
                               const KeptForUser& kept = {});

/// Whether limits say anything about the devices that somebody holds.
bool areDevicesLimited(const Limits& limits);

/// Why a user may not hold all of this, or an environment of theirs not that part of it.
QuotaViolation admitHoldings(const Holdings& ofUser, const Holdings& ofEnvironment,
                             const Limits& limits);

/// How long something of this age lasts from now on; without a lifetime, for ever.
QuotaViolation admitLifetime(const Limits& limits, std::chrono::microseconds age,
                             std::optional<std::chrono::seconds> lifetime);

/// A configuration that could never be attached.
QuotaViolation admitConfiguration(const Limits& limits, const ConfigurationChange& change);

} // namespace genv::core
