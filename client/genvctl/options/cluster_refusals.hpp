// SPDX-License-Identifier: LGPL-2.1-or-later
// Refusals on a cluster that several commands share.
#pragma once

#include "client/genvctl/definition/cluster_meaning.hpp"

namespace genv::ctl {

/// The reasons of commands.
inline constexpr const char* isAboutOneMachine = "it is about the genvd of one machine";
inline constexpr const char* slurmDecides = "Slurm alone decides which job has which GPU";

/// The refusals of options.
inline constexpr cluster::Meaning slurmOrdersJobs = cluster::refused(
    "Slurm orders the jobs of a cluster itself",
    "Leave it out, or change the job with \"scontrol update JobId=JOBID Nice=N\".");
inline constexpr cluster::Meaning slurmSharesNoGpus =
    cluster::refused("Slurm shares no GPU that a job has as a whole",
                     "Ask for a part of one with --gpu-memory, where the cluster has shards.");
inline constexpr cluster::Meaning jobsSeeTheirOwnGpus =
    cluster::refused("a job on a node sees its own GPUs only, where ConstrainDevices=yes",
                     "Leave it out, or use it in the job: \"genvctl run --gpus 1 -- genvctl run "
                     "--nvml-filter -- COMMAND\".");
inline constexpr cluster::Meaning dividesThisMachine =
    cluster::refused("it divides the GPUs of an environment on this machine",
                     "Use it in a job, where it is about the job's GPUs.");
inline constexpr cluster::Meaning noJobIsJoined =
    cluster::refused("a running Slurm job cannot be joined this way",
                     "\"srun --jobid=JOBID --overlap --pty $SHELL\" starts a shell in your job.");
inline constexpr cluster::Meaning endsJobsOfAll = cluster::refused(
    "it would end the jobs of all users", "\"scancel\" ends the jobs that you name.");

} // namespace genv::ctl
