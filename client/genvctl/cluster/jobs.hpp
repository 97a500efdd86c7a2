// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts, ends, extends and lists Slurm jobs.
#pragma once

#include "client/genvctl/cluster/given_options.hpp"
#include "client/genvctl/cluster/rows.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/cluster/slurm_programs.hpp"

#include <string>
#include <vector>

namespace genv::ctl {
class Context;
}

namespace genv::ctl::cluster {

/// Return the Slurm commands whose output readNodes() and readJobs() parse.
std::vector<std::string> nodesCommand();
std::vector<std::string> jobsCommand();

/// Throw a Failure with a hint if genv cannot interpret the output of Slurm.
[[noreturn]] void failToUnderstand(const UnknownShape& error);
[[noreturn]] void failByComplaint(const SlurmComplaint& error);

/// Parses an answer of Slurm. Throws Failure.
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

/// Throws Failure.
std::vector<ClusterJob> allJobs();

/// Explains an empty table on standard error.
void tellNoGpus();

/// Implement run, activate, deactivate and extend. They throw Failure.
void runJob(Context& context, const GivenCommand& given);
void runShellJob(Context& context, const GivenCommand& given);
void cancelJob(Context& context, const GivenCommand& given);
void extendJob(Context& context, const GivenCommand& given);

} // namespace genv::ctl::cluster
