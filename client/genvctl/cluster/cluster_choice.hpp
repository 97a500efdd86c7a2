// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides whether a command is about this machine or about a cluster.
#pragma once

#include "client/genvctl/cluster/cluster_configuration.hpp"

#include <functional>
#include <optional>
#include <string>

namespace genv::ctl::cluster {

/// Returns the value of an environment variable, or null if it is not set.
using Variables = std::function<const char*(const char* name)>;

/// Returns the value of --cluster, else of GENV_CLUSTER, else of genv.conf. Inside a job on its
/// node, only the option counts: the GPUs of a job belong to the node, and the node's genvd knows
/// them. Throws Failure.
Cluster chosenCluster(const std::optional<std::string>& option, const Variables& variables,
                      const std::function<ClientConfiguration()>& configuration);

} // namespace genv::ctl::cluster
