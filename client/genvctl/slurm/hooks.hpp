// SPDX-License-Identifier: LGPL-2.1-or-later
// The programs that slurmd runs on a node: before a job, after it, and before each of its tasks. A
// hook that fails or hangs drains the node and holds the job. These hooks therefore end in time and
// never fail; errors are logged.
#pragma once

#include "client/genvctl/slurm/hook_job.hpp"

#include <filesystem>

namespace genv::ctl {

/// Returns the file in which the service maps Slurm's device numbers to devices.
std::filesystem::path slurmDeviceFile();

/// Runs as root before a job: its GPUs become an environment of its user.
void runSlurmProlog(const SlurmVariables& variables);
/// Runs as root after a job: ends its environment. Only the job number is used, also for jobs
/// without GPUs, because an environment may have started without a prolog.
void runSlurmEpilog(const SlurmVariables& variables);
/// Runs as the job's user before each task: prints the variables for the task.
void runSlurmTaskProlog(const SlurmVariables& variables);

/// Runs a hook, and ends this process with status 0 if the hook takes too long.
void runSlurmHook(const char* name, void (*hook)(const SlurmVariables&)) noexcept;

} // namespace genv::ctl
