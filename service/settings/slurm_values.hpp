// SPDX-License-Identifier: LGPL-2.1-or-later
// The values of [Slurm] in genvd.conf. Reading is strict: a device that is Slurm's by mistake is
// nobody's, and a folder by mistake is where root's programs are run from.
#pragma once

#include "core/settings.hpp"

#include <string>

namespace genv::service {

// Each reader throws core::Error(InvalidArgs), which says what would be right.

/// "none", "all", or UUIDs of GPUs and MIG instances separated by commas.
core::SlurmDevices readSlurmDevices(const std::string& value);
std::string writeSlurmDevices(const core::SlurmDevices& devices);

core::SlurmIdleAction readSlurmIdleAction(const std::string& value);

/// An absolute path as the kernel resolves it: without "." and ".." and empty parts.
std::string readSlurmBinDir(const std::string& value);

} // namespace genv::service
