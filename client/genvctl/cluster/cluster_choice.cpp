// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_choice.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>

namespace genv::ctl::cluster {

namespace {

Cluster required(const char* where, const std::string& text) {
    const auto cluster = clusterNamed(text);
    if (!cluster)
        throw Failure(ExitStatus::Usage, fmt::format("{}: unknown cluster \"{}\"", where, text),
                      "Expected slurm or none.");
    return *cluster;
}

// A shell started by salloc on the login node has the number of the job, but no node name.
bool isInJob(const Variables& variables) {
    return variables("SLURM_JOB_ID") != nullptr && variables("SLURMD_NODENAME") != nullptr;
}

} // namespace

Cluster chosenCluster(const std::optional<std::string>& option, const Variables& variables,
                      const std::function<ClientConfiguration()>& configuration) {
    if (option)
        return required("--cluster", *option);
    if (isInJob(variables))
        return Cluster::None;
    if (const char* variable = variables("GENV_CLUSTER"); variable != nullptr && *variable != '\0')
        return required("GENV_CLUSTER", variable);
    return configuration().cluster;
}

} // namespace genv::ctl::cluster
