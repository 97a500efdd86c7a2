// SPDX-License-Identifier: LGPL-2.1-or-later
// How records name environments and devices.
#pragma once

#include "core/ledger.hpp"
#include "service/journal/record.hpp"

#include <vector>

namespace genv::service::journal {

/// Adds an environment's id, its name and the Slurm job that it is.
void addEnvironment(Record& record, const core::Environment& environment);

/// Adds a device: index, UUID, model.
void addDevice(Record& record, const core::DeviceFacts& device);

/// Adds several devices, indices and as many UUIDs.
void addDevices(Record& record, const std::vector<core::DeviceFacts>& devices);

/// The same by index; what the ledger does not know is left out.
void addDevices(Record& record, const core::Ledger& ledger,
                const std::vector<core::DeviceIndex>& indices);

} // namespace genv::service::journal
