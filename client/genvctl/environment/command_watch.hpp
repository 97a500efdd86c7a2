// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts genv-watch (client/watch), which reports why a command of "genvctl run" was ended, and
// which children of an ended command keep its GPUs.
#pragma once

#include <string>

namespace genv::ctl {

/// Starts genv-watch for an environment whose command is about to replace this process. If it
/// cannot be started, the command runs without it. The command gets no child that it did not start.
void watchCommand(const std::string& environment);

} // namespace genv::ctl
