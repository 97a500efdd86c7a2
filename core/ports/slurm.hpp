// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: genv's requests to Slurm on a node. Slurm's programs are slow, may hang, and need a sandbox
// of their own, so the adapter talks to a helper process. Every reply comes later, on the loop's
// thread.
#pragma once

#include "core/base/time.hpp"
#include "core/model/device.hpp"
#include "core/model/sluid.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace genv::core {

/// The number of a Slurm job, which is never 0.
using SlurmJobId = std::uint32_t;

/// The name that Slurm gives to the control group of a job: its number, or its SLUID from Slurm
/// 26.05.
using SlurmJobName = std::variant<SlurmJobId, Sluid>;

/// A GPU as this node's gres.conf lists it. Slurm counts these files, not the driver's indices.
struct SlurmDevice {
    std::uint32_t number = 0; ///< the number used in SLURM_JOB_GPUS
    DeviceNode node;          ///< the device node in gres.conf
};

/// Why Slurm refused or did not answer, as a clause for display.
struct SlurmFailure {
    std::string reason;
};

class Slurm {
  public:
    /// Called once, on the loop's thread; without a failure if Slurm succeeded.
    using Done = std::function<void(const std::optional<SlurmFailure>&)>;
    using Devices =
        std::function<void(const std::variant<std::vector<SlurmDevice>, SlurmFailure>&)>;
    using Found = std::function<void(const std::variant<SlurmJobId, SlurmFailure>&)>;

    virtual ~Slurm() = default;

    /// Lists the GPUs that Slurm has on this node. Must not be called from within a prolog.
    virtual void listDevices(Devices devices) = 0;
    /// Finds the number of a job.
    virtual void findJob(Sluid sluid, Found found) = 0;
    /// Sets when a job ends.
    virtual void setEnd(SlurmJobId job, WallTime end, Done done) = 0;
    virtual void cancel(SlurmJobId job, Done done) = 0;
    virtual void requeue(SlurmJobId job, Done done) = 0;
};

} // namespace genv::core
