// SPDX-License-Identifier: LGPL-2.1-or-later
// Starting, ending and extending Slurm jobs, and asking for all of them.
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

/// Throws Failure.
std::vector<ClusterJob> allJobs();

/// Says on standard error that an empty table is no mistake.
void tellNoGpus();

/// run, activate, deactivate and extend. They throw Failure.
void runJob(Context& context, const GivenCommand& given);
void runShellJob(Context& context, const GivenCommand& given);
void cancelJob(Context& context, const GivenCommand& given);
void extendJob(Context& context, const GivenCommand& given);

} // namespace genv::ctl::cluster
