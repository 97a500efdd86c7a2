// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows environments with their owners and devices, as a table and as JSON.
#pragma once

#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// The GPU memory used by the processes of each environment, by id. The number is unset if the
/// driver does not report the memory of one of the processes.
using MemoryInUse = std::map<std::string, std::optional<std::uint64_t>>;
MemoryInUse memoryInUse(const std::vector<ComputeProcess>& processes);

struct EnvironmentList {
    std::vector<EnvironmentEntry> entries;
    Parents parents;
    /// By id. Environments that are missing here are shown without kernels, devices and leases.
    std::map<std::string, Environment> details;
    std::optional<MemoryInUse> memory; ///< unset: the driver does not report it
};

/// Returns one row for each environment, after the row of its parent.
Table environmentTable(const EnvironmentList& list, const ListingOptions& options, Time now);

Json environmentsJson(const std::vector<Environment>& all, const Parents& parents,
                      const std::optional<MemoryInUse>& memory);

} // namespace genv::ctl
