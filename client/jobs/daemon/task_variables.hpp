// SPDX-License-Identifier: LGPL-2.1-or-later
// Composes the variables of a task's command from those of the submission and of the task's
// environment. What the submission says about another environment is left out.
#pragma once

#include "client/genvctl/shell/variables.hpp"
#include "client/jobs/daemon/service_link.hpp"

#include <string>
#include <vector>

namespace genv::jobs {

/// Returns the variables that genvctl sets for an environment, except PATH.
[[nodiscard]] std::vector<ctl::Variable> variablesOf(const GrantedEnvironment& environment);

/// Returns the UUIDs of the devices of an environment, in its order.
[[nodiscard]] std::vector<std::string> uuidsOf(const GrantedEnvironment& environment);

/// Returns texts NAME=VALUE with each of the variables once. Texts that name no variable stay.
[[nodiscard]] std::vector<std::string> withVariables(const std::vector<std::string>& submitted,
                                                     const std::vector<ctl::Variable>& variables);

} // namespace genv::jobs
