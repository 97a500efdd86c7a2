// SPDX-License-Identifier: LGPL-2.1-or-later
// What slurmd runs on a node: before a job, after it, and before each of its tasks. A hook that
// fails or hangs drains the node and holds the job, so these end in time and never fail: what went
// wrong is in the log.
#pragma once

#include "client/genvctl/slurm/job.hpp"

#include <filesystem>

namespace genv::ctl {

/// Where the service says which device each of Slurm's numbers means.
std::filesystem::path slurmDeviceFile();

/// As root, before a job begins: its GPUs become an environment of its user.
void runSlurmProlog(const SlurmVariables& variables);
/// As root, after a job: its environment ends. Only the job's number counts, and jobs without GPUs
/// are no exception: an environment may have begun without a prolog.
void runSlurmEpilog(const SlurmVariables& variables);
/// As the job's user, before each task: prints what the task's environment gets.
void runSlurmTaskProlog(const SlurmVariables& variables);

/// Runs a hook, and ends this process with status 0 if that takes too long.
void runSlurmHook(const char* name, void (*hook)(const SlurmVariables&)) noexcept;

} // namespace genv::ctl
