// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm on this machine, as the service uses it: the adapter, and which devices are Slurm's.
#pragma once

#include "core/settings.hpp"
#include "service/slurm/slurm_device_file.hpp"
#include "service/slurm/slurm_settings.hpp"
#include "service/slurm/slurm_socket.hpp"

#include <filesystem>

namespace genv::service {

struct SlurmNode {
    SlurmNode(const std::filesystem::path& socket, const std::filesystem::path& runtime,
              core::Scheduler& scheduler, core::Log& log)
        : slurm({socket}, scheduler), devices(runtime, slurm, scheduler, log) {}

    /// At the start and whenever the configuration was read again, also unchanged: gres.conf may
    /// have changed.
    void configured(const core::Settings& settings) {
        devices.configured(slurmHasDevices(settings));
    }

    SlurmSocket slurm;
    SlurmDeviceFile devices;
};

} // namespace genv::service
