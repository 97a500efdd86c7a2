// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/questions.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace genv::ctl::cluster {

std::vector<std::string> nodesCommand() {
    return {"sinfo", "--json"};
}

std::vector<std::string> jobsCommand() {
    return {"squeue", "--json"};
}

void failToUnderstand(const UnknownShape& error) {
    throw Failure(
        ExitStatus::Failed,
        fmt::format("Slurm's answer is in a form that genv does not know: {}", error.what()),
        "genv knows Slurm 22.05 to 24.11; \"sinfo --version\" tells yours. \"sinfo\" and "
        "\"squeue\" themselves show nodes and jobs.");
}

void failByComplaint(const SlurmComplaint& error) {
    throw Failure(ExitStatus::NoService, fmt::format("Slurm does not answer: {}", error.what()),
                  "\"scontrol ping\" tells whether slurmctld answers; \"--cluster none\" is about "
                  "this machine.");
}

std::vector<ClusterJob> allJobs() {
    SlurmQuestion question(jobsCommand());
    return understood(question, readJobs);
}

std::vector<ClusterJob> waitingJobs(const std::vector<ClusterJob>& jobs) {
    std::vector<ClusterJob> waiting;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(waiting), [](const ClusterJob& job) {
        return job.state == JobState::Waiting && job.wanted.gpus + job.wanted.shards > 0;
    });
    std::stable_sort(waiting.begin(), waiting.end(), [](const ClusterJob& a, const ClusterJob& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    });
    return waiting;
}

} // namespace genv::ctl::cluster
