// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps Slurm's device numbers to devices. Slurm counts the files in gres.conf, while the driver has
// its own order. The device node connects the two.
#pragma once

#include "core/ports/gpus.hpp"
#include "core/ports/slurm.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::service {

/// A number in SLURM_JOB_GPUS and its device.
struct SlurmDeviceRow {
    std::uint32_t number = 0;
    core::DeviceUuid uuid;

    friend bool operator==(const SlurmDeviceRow&, const SlurmDeviceRow&) = default;
};

struct SlurmDeviceTable {
    std::vector<SlurmDeviceRow> rows;       ///< by number
    std::vector<core::SlurmDevice> unknown; ///< entries that match no device, or several
};

/// Finds a GPU by its node. Finds a MIG instance by a node that no other instance has, because all
/// instances of a GPU share the GPU's node.
SlurmDeviceTable joinSlurmDevices(const std::vector<core::SlurmDevice>& listed,
                                  const std::vector<core::DeviceSample>& devices);

/// Returns the text of the derived file: a line "NUMBER UUID" for each device.
std::string slurmDeviceText(const std::vector<SlurmDeviceRow>& rows);

} // namespace genv::service
