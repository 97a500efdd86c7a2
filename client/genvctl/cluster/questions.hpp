// SPDX-License-Identifier: LGPL-2.1-or-later
// Asking Slurm for its nodes and jobs, for genvctl and genv-top.
#pragma once

#include "client/genvctl/cluster/cluster_rows.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/cluster/slurm_programs.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Slurm's commands whose output readNodes() and readJobs() read.
std::vector<std::string> nodesCommand();
std::vector<std::string> jobsCommand();

/// The output of a form that genv does not know is a failure that says what to do.
[[noreturn]] void failToUnderstand(const UnknownShape& error);
[[noreturn]] void failByComplaint(const SlurmComplaint& error);

/// Reads an answer. Throws Failure.
template <typename Read>
auto understood(SlurmQuestion& question, Read read) {
    try {
        return read(question.answer());
    } catch (const UnknownShape& error) {
        failToUnderstand(error);
    } catch (const SlurmComplaint& error) {
        failByComplaint(error);
    }
}

/// Returns a number in slurm.conf, such as MinJobAge in seconds; nothing if Slurm does not tell it.
std::optional<std::uint32_t> slurmSetting(std::string_view key);

/// Throws Failure.
std::vector<ClusterJob> allJobs();

/// The jobs that wait for GPUs, in the order in which Slurm considers them.
std::vector<ClusterJob> waitingJobs(const std::vector<ClusterJob>& jobs);

} // namespace genv::ctl::cluster
