// SPDX-License-Identifier: LGPL-2.1-or-later
// Admission: checks whether a request stays within the administrator's limits. Rules watch the same
// numbers at run time; admission refuses a request before it is granted.
#pragma once

#include "core/ledger/holdings.hpp"
#include "core/ledger/ledger.hpp"
#include "core/placement/placement.hpp"
#include "core/settings/limits.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// Why a request would exceed a limit: a sentence that names the limit and its number. Empty if the
/// request is within the limits.
using QuotaViolation = std::optional<std::string>;

/// The devices that are `kept` for a user's waiting requests. They count as the user's, once: a
/// placement that uses a kept device does not count it again.
using KeptForUser = std::vector<KeptDevice>;

// A plan that waits counts with its expected placement, as a plan that is granted now does.

/// Checks a new environment of a user, and the devices of its plan.
QuotaViolation admitActivation(const LedgerView& ledger, const UserInfo& owner,
                               const Limits& limits, const std::optional<Plan>& plan,
                               const KeptForUser& kept = {},
                               Preemptible preemptible = Preemptible::No);

/// Checks more devices for an environment. A plan that only detaches devices is always within
/// limits. `environment`: as it will be without them, in place of the ledger's.
QuotaViolation admitAttachment(const LedgerView& ledger, const EnvironmentRecord& environment,
                               const Limits& limits, const Plan& plan,
                               const KeptForUser& kept = {});

/// Checks what a user holds once a preemptible environment is no longer on loan.
QuotaViolation admitEndOfLoan(const LedgerView& ledger, EnvironmentRecord environment,
                              const Limits& limits);

/// Returns whether any limit applies to the number or memory of held devices.
bool areDevicesLimited(const Limits& limits);

/// Checks whether a user may hold all of `ofUser`, and one of their environments all of
/// `ofEnvironment`.
QuotaViolation admitHoldings(const Holdings& ofUser, const Holdings& ofEnvironment,
                             const Limits& limits);

/// Checks the lifetime, from now on, of an environment or attachment of this age. Without a
/// lifetime it lasts for ever.
QuotaViolation admitLifetime(const Limits& limits, std::chrono::microseconds age,
                             std::optional<std::chrono::seconds> lifetime);

/// Refuses a configuration that could never be attached. `before`: whether the environment was
/// preemptible so far.
QuotaViolation admitConfiguration(const Limits& limits,
                                  const EnvironmentConfigurationChange& change,
                                  Preemptible before = Preemptible::No);

} // namespace genv::core
