// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the text that `slurmd -G` prints about a node's GPUs, to find the device files for Slurm's
// numbers.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// The output has a form that this version of genv does not support. The text is a clause for
/// users.
class GresError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Returns the device files in the order in which SLURM_JOB_GPUS counts them, each as an absolute
/// path. If a GPU has several files (MultipleFiles= in gres.conf), uses the last one, which no
/// other MIG instance has. Skips GPUs without a file. Throws GresError.
std::vector<std::string> parseGpuFiles(std::string_view output);

/// Expands a list such as "/dev/nvidia[0,2-3]" or "/dev/nvidia0,/dev/nvidia4" to its names. Throws
/// GresError.
std::vector<std::string> expandFileNames(std::string_view list);

} // namespace genv::service
