// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of genvctl's commands and options on a cluster: one table. A test finds options that
// it lacks.
#pragma once

#include <string_view>

namespace genv::ctl::cluster {

/// What becomes of a command or an option.
enum class Use {
    Mapped,      ///< Slurm has a counterpart
    Nothing,     ///< it changes nothing there, and does no harm
    ThisMachine, ///< the whole command is about this machine
    Refused,
};

struct Meaning {
    Use use = Use::Mapped;
    const char* why = ""; ///< a sentence that says why it is refused
    const char* hint = "";
};

/// What a command means, or a subcommand such as "devices query". One that has no row is about this
/// machine.
Meaning meaningOf(std::string_view command, std::string_view subcommand);

/// What an option of a mapped command means; null where the table lacks it.
const Meaning* meaningOfOption(std::string_view command, std::string_view option);

/// What to do in place of a command that is about this machine, for one who asks for the cluster.
const char* clusterHintFor(std::string_view command);

} // namespace genv::ctl::cluster
