// SPDX-License-Identifier: LGPL-2.1-or-later
// genvctl on a cluster: the commands that Slurm has counterparts of. command_line.cpp asks here
// before it runs a command.
#pragma once

namespace CLI {
class App;
}

namespace genv::ctl {
class Context;
}

namespace genv::ctl::cluster {

/// Runs the command that was named on the cluster. False where it is about this machine, or where
/// genvctl is set up for no cluster. Throws Failure.
bool run(const CLI::App& app, Context& context);

} // namespace genv::ctl::cluster
