// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a command is about this machine or a cluster.
#pragma once

#include "client/genvctl/cluster/configuration.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::ctl::cluster {

/// Gives the value of an environment variable; null where it is not set.
using Variables = std::function<const char*(const char* name)>;

/// What --cluster says, else GENV_CLUSTER, else genv.conf. In a job on its node only the option
/// counts: a job's GPUs are those of the node, which its genvd knows. Throws Failure.
Cluster chosenCluster(const std::optional<std::string>& option, const Variables& variables,
                      const std::function<ClientConfiguration()>& configuration);

} // namespace genv::ctl::cluster
