// SPDX-License-Identifier: LGPL-2.1-or-later
// What the helper and the adapter use of [Slurm] in genvd.conf, in one place.
#pragma once

#include "core/settings.hpp"

#include <filesystem>

namespace genv::service {

/// Devices=: whether Slurm has any device of this machine.
inline bool slurmHasDevices(const core::Settings& /*settings*/) {
    return false;
}

/// BinDir=: where Slurm's programs are.
inline std::filesystem::path slurmBinDir(const core::Settings& /*settings*/) {
    return "/usr/bin";
}

} // namespace genv::service
