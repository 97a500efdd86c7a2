// SPDX-License-Identifier: LGPL-2.1-or-later
// The processes that use GPUs, for tables that are also printed while the driver hangs.
#pragma once

#include "client/genvctl/objects/machine_objects.hpp"

#include <optional>
#include <vector>

namespace genv::ctl {

/// The processes that use a GPU now. Nothing where the driver does not answer, which is said on
/// standard error.
std::optional<std::vector<ProcessDescription>> processesOrNote(Client& client);

/// Returns everything about the machine, with such processes.
MachineAnswers readAnswers(Client& client);

} // namespace genv::ctl
