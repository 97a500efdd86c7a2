// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows environments with their owners and devices as a table.
#pragma once

#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/environment/loans.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

struct EnvironmentList {
    std::vector<EnvironmentEntry> entries;
    Parents parents;
    /// By id. Environments that are missing here are shown without Jupyter kernels, devices and
    /// leases.
    std::map<std::string, Environment> details;
    std::optional<MemoryInUse> memory; ///< unset: the driver does not report it
    LoanStates loans;
};

/// Returns one row for each environment, after the row of its parent.
Table environmentTable(const EnvironmentList& list, const ListingOptions& options, Time now);

} // namespace genv::ctl
