// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's states and reasons in genv's words.
#pragma once

#include "client/genvctl/cluster/jobs/job_records.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace genv::ctl::cluster {

/// Returns genv's word for a state of Slurm, in capitals and with its flags. Returns nothing for a
/// state that genv does not know.
std::optional<std::string> stateWord(const std::set<std::string>& states,
                                     const std::string& reason);

/// Returns why a task waits, in words. `reason` is Slurm's.
std::string whyWaiting(const SlurmJobRecord& job, const std::string& reason);

/// Returns how a task ended, in words; empty if that is its state. Its status and signal are known.
std::string howEnded(const SlurmTask& task, const std::set<std::string>& states,
                     const std::string& reason);

} // namespace genv::ctl::cluster
