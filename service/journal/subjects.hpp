// SPDX-License-Identifier: LGPL-2.1-or-later
// Adds environments and devices to records.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/model/reason.hpp"
#include "service/journal/record.hpp"

#include <string>
#include <vector>

namespace genv::service::journal {

/// Formats who acted: "by uid 1001", "by uid 0, logged in as uid 1001".
std::string describe(const core::Actor& actor);

/// Adds an environment's id, its name and its Slurm job, if it is one.
void addEnvironment(Record& record, const core::EnvironmentRecord& environment);

/// Adds a device's index, UUID and model.
void addDevice(Record& record, const core::DeviceFacts& device);

/// Adds the indices and UUIDs of several devices.
void addDevices(Record& record, const std::vector<core::DeviceFacts>& devices);

/// Adds several devices by index. Skips devices that the ledger does not know.
void addDevices(Record& record, const core::LedgerView& ledger,
                const std::vector<core::DeviceIndex>& indices);

} // namespace genv::service::journal
