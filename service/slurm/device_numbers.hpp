// SPDX-License-Identifier: LGPL-2.1-or-later
// Which device each of Slurm's numbers means. Slurm counts the files of gres.conf, the driver has
// an order of its own, and what joins them is the device node.
#pragma once

#include "core/ports/gpus.hpp"
#include "core/ports/slurm.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::service {

/// A number of SLURM_JOB_GPUS and the device that it means.
struct SlurmDeviceRow {
    std::uint32_t number = 0;
    core::DeviceUuid uuid;

    friend bool operator==(const SlurmDeviceRow&, const SlurmDeviceRow&) = default;
};

struct SlurmDeviceTable {
    std::vector<SlurmDeviceRow> rows;       ///< by number
    std::vector<core::SlurmDevice> unknown; ///< those that are no device, or several
};

/// A GPU is found by its node. A MIG instance is found by a node that no other instance has; the
/// node of its GPU, which all have, means none of them.
SlurmDeviceTable joinSlurmDevices(const std::vector<core::SlurmDevice>& listed,
                                  const std::vector<core::DeviceSample>& devices);

/// The derived file: a line "NUMBER UUID" for each device.
std::string slurmDeviceText(const std::vector<SlurmDeviceRow>& rows);

} // namespace genv::service
