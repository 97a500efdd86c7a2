// SPDX-License-Identifier: LGPL-2.1-or-later
// Holding requests back for a quota: a waiting request that would exceed its owner's quota waits
// until the owner gives something back, and others pass it. The functions are pure.
//
// Whether a quota holds a request back does not depend on which devices are free now: it does if
// every choice of devices would exceed a limit at the moment. A device that the owner has to give
// back first counts as one more.
#pragma once

#include "core/ledger/holdings.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"
#include "core/placement/reservations.hpp"
#include "core/settings/limits.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// A limit that holds a request back. Memory is in bytes.
struct QuotaHold {
    std::string_view limit;    ///< its key in genvd.conf
    std::uint64_t used = 0;    ///< in use without the request
    std::uint64_t allowed = 0; ///< the limit

    friend bool operator==(const QuotaHold&, const QuotaHold&) = default;
};

/// The holdings that a request adds to.
struct QuotaUse {
    Holdings ofUser;                ///< of its owner, devices kept for earlier requests included
    Holdings ofEnvironment;         ///< of its environment
    bool startsEnvironment = false; ///< the grant adds an environment that does not count yet
    bool isLoan = false;            ///< the devices of the request will be on loan
};

/// Returns the limit that holds a request back, or nothing. `environment`: null for one that does
/// not exist yet.
std::optional<QuotaHold> quotaHold(const AttachRequest& request, const DeviceTable& devices,
                                   const EnvironmentRecord* environment, const QuotaUse& use,
                                   const Limits& limits);

/// Returns whether a request is within the limits once its owner has given back everything. If not,
/// it would wait in vain.
bool fitsQuota(const AttachRequest& request, const DeviceTable& devices, bool startsEnvironment,
               const Limits& limits, bool isLoan = false);

/// Reserves the devices that alone would take a request over a limit, so that it gets others.
Reservations withoutForbidden(Reservations reservations, const AttachRequest& request,
                              const DeviceTable& devices, const EnvironmentRecord& environment,
                              const QuotaUse& use, const Limits& limits);

/// Describes a hold: "alice holds 2 GPUs and may have 2 (MaxDevicesPerUser)".
std::string describeHold(const QuotaHold& hold, std::string_view user);
/// The same for the user who reads it: "you hold 2 GPUs and may have 2 (MaxDevicesPerUser)".
std::string describeOwnHold(const QuotaHold& hold);

} // namespace genv::core
