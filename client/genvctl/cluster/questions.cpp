// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/questions.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

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

// A line is "MinJobAge               = 300 sec".
std::optional<std::uint32_t> slurmSetting(std::string_view key) {
    std::string text;
    try {
        text = SlurmQuestion({"scontrol", "show", "config"}).answer();
    } catch (const Failure&) {
        return std::nullopt;
    }
    const std::size_t line = text.find(fmt::format("\n{} ", key));
    if (line == std::string::npos)
        return std::nullopt;
    const std::size_t begin = text.find_first_not_of(" =", line + 1 + key.size());
    const std::size_t end = text.find_first_not_of("0123456789", begin);
    return parseNumber(std::string_view(text).substr(begin, end - begin));
}

std::vector<ClusterJob> allJobs() {
    SlurmQuestion question(jobsCommand());
    return understood(question, readJobs);
}

std::vector<ClusterJob> waitingJobs(const std::vector<ClusterJob>& jobs) {
    std::vector<ClusterJob> waiting;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(waiting), [](const ClusterJob& job) {
        return job.state == ClusterJobState::Waiting && job.wanted.gpus + job.wanted.shards > 0;
    });
    std::stable_sort(waiting.begin(), waiting.end(), [](const ClusterJob& a, const ClusterJob& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    });
    return waiting;
}

} // namespace genv::ctl::cluster
