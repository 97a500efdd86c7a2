// SPDX-License-Identifier: LGPL-2.1-or-later
// The values of [Slurm] in genvd.conf. Parsing is strict: nobody can use a device that is given to
// Slurm by mistake, and root runs programs from the configured folder.
#pragma once

#include "core/settings/settings.hpp"

#include <string>

namespace genv::service {

// Each reader throws core::Error(InvalidArgs), which names the valid values.

/// Parses "none", "all", or UUIDs of GPUs and MIG instances separated by commas.
core::SlurmDevices readSlurmDevices(const std::string& value);
std::string writeSlurmDevices(const core::SlurmDevices& devices);

core::SlurmIdleAction readSlurmIdleAction(const std::string& value);

/// Parses an absolute path in the form that the kernel resolves it to: without ".", ".." and empty
/// components.
std::string readSlurmBinDir(const std::string& value);

} // namespace genv::service
