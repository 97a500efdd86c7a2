// SPDX-License-Identifier: LGPL-2.1-or-later
// What `slurmd -G` says of a node's GPUs, read as text: which device files Slurm's numbers mean.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

/// The output says something that this version of genv does not understand. The text is a clause
/// for a person.
class GresError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The device files in the order in which SLURM_JOB_GPUS counts them, each an absolute path. Of a
/// GPU with several files (MultipleFiles= in gres.conf) the last one counts, which is the one that
/// no other MIG instance has. GPUs without a file are not listed. Throws GresError.
std::vector<std::string> parseGpuFiles(std::string_view output);

/// The names in a list such as "/dev/nvidia[0,2-3]" or "/dev/nvidia0,/dev/nvidia4". Throws
/// GresError.
std::vector<std::string> expandFileNames(std::string_view list);

} // namespace genv::service
