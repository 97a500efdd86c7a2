// SPDX-License-Identifier: LGPL-2.1-or-later
// The commands of genvctl that have a counterpart in Slurm. command_line.cpp calls run() before it
// runs a command.
#pragma once

namespace CLI {
class App;
}

namespace genv::ctl {
class Context;
}

namespace genv::ctl::cluster {

/// Runs the named command on the cluster. Returns false if the command is about this machine or
/// asks Slurm itself, or if genvctl is not configured for a cluster; and for a command about jobs,
/// after it has given the context the jobs of the cluster. Throws Failure.
bool run(const CLI::App& app, Context& context);

} // namespace genv::ctl::cluster
