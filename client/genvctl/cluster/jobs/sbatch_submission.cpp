// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/sbatch_submission.hpp"

#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/sbatch.hpp"
#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

namespace {

std::optional<std::string> setVariable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

// The variables describe the environment of the submitting shell; a job has one of its own.
void dropOwnVariables(const Work& work) {
    std::vector<std::string> dropped;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string variable = *entry;
        const std::size_t end = variable.find('=', 1);
        if (std::find(work.job.environment.begin(), work.job.environment.end(), variable) ==
                work.job.environment.end() &&
            end != std::string::npos)
            dropped.push_back(variable.substr(0, end));
    }
    for (const std::string& name : dropped)
        unsetenv(name.c_str());
}

/// The partition of the job, by its names.
struct NamedPartition {
    std::optional<std::string> names;
    bool isOption = false; ///< sbatch does not find it by itself
};

// As sbatch: its variable comes before the lines in the script. The variable of srun comes last.
NamedPartition namedPartition(const Work& work) {
    if (const auto variable = setVariable("SBATCH_PARTITION"))
        return {variable};
    if (const auto inScript = partitionOfScript(work))
        return {inScript};
    const auto variable = setVariable("SLURM_PARTITION");
    return {variable, variable.has_value()};
}

std::optional<Partition> partitionFor(const Work& work, const NamedPartition& named) {
    if (gpusOf(work) == 0)
        return std::nullopt;
    SlurmQuestion question(partitionsCommand());
    return chosenPartition(readPartitions(question.answer()), named.names);
}

std::string arrayLimitText() {
    const auto size = slurmSetting("MaxArraySize");
    return size ? std::to_string(*size) : "a limit";
}

[[noreturn]] void explainRefusal(const SlurmRefusal& refusal) {
    if (refusal.isSilence())
        throw refusal;
    std::string why = refusal.why();
    constexpr std::string_view prefix = "sbatch: error: ";
    if (why.starts_with(prefix))
        why = why.substr(prefix.size());
    if (why.find("array specification") != std::string::npos)
        throw Failure(ExitStatus::Usage,
                      fmt::format("--array: Slurm accepts no such array here: expected numbers "
                                  "below {} (MaxArraySize)",
                                  arrayLimitText()),
                      "Submit it in parts, or ask an administrator for a larger MaxArraySize.");
    throw Failure(ExitStatus::Failed, fmt::format("Slurm refuses the job: {}", why),
                  "\"sbatch\" itself says the same; genvctl(1) describes the options.");
}

} // namespace

jobs::JobNumber submitToSlurm(const Work& work) {
    const NamedPartition named = namedPartition(work);
    const auto partition = partitionFor(work, named);
    std::vector<std::string> words = sbatchWords(work, partition, readConfiguration());
    if (named.isOption)
        words.push_back("--partition=" + *named.names);
    dropOwnVariables(work);
    try {
        SlurmQuestion question(std::move(words), batchScript(work));
        return readSubmitted(question.answer());
    } catch (const SlurmRefusal& refusal) {
        explainRefusal(refusal);
    }
}

jobs::JobNumber readSubmitted(std::string_view text) {
    const auto number = parseNumber(text.substr(0, text.find_first_of(";\n")));
    if (!number || *number == 0)
        throw Failure(ExitStatus::Failed,
                      fmt::format("sbatch printed \"{}\": expected the number of the job",
                                  shown(text.substr(0, text.find('\n')))),
                      "\"genvctl jobs\" shows whether the job was submitted.");
    return *number;
}

} // namespace genv::ctl::cluster
