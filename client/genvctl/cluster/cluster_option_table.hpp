// SPDX-License-Identifier: LGPL-2.1-or-later
// The single table of how genvctl's commands and options work on a cluster. A test finds options
// that are missing in it.
#pragma once

#include <string_view>

namespace genv::ctl::cluster {

/// How a command or an option is handled on a cluster.
enum class Handling {
    Mapped,      ///< it has a counterpart in Slurm
    UserJobs,    ///< the command works with the jobs of the cluster in place of genv-jobs
    Nothing,     ///< it has no effect there and is accepted
    Itself,      ///< the command's own program asks Slurm
    ThisMachine, ///< the whole command is about this machine
    Refused,
};

struct Meaning {
    Handling use = Handling::Mapped;
    const char* why = ""; ///< a sentence with the reason for the refusal
    const char* hint = "";
};

/// Returns how a command, or a subcommand such as "devices query", is handled. A command without a
/// row is about this machine.
Meaning meaningOf(std::string_view command, std::string_view subcommand);

/// Returns how an option of a mapped command is handled; null if it is missing in the table.
const Meaning* meaningOfOption(std::string_view command, std::string_view option);

/// Returns the alternative to a command that is about this machine, for a user who asks for the
/// cluster.
const char* clusterHintFor(std::string_view command);

} // namespace genv::ctl::cluster
