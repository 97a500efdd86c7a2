// SPDX-License-Identifier: LGPL-2.1-or-later
// How genvctl's commands and options work on a cluster. Each states it where it is defined.
#pragma once

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
    /// An alternative to a refusal, or to a command that is about this machine; may be empty.
    const char* hint = "";
};

inline constexpr Meaning mapped{Handling::Mapped};
inline constexpr Meaning aboutUserJobs{Handling::UserJobs};
inline constexpr Meaning withoutEffect{Handling::Nothing};

constexpr Meaning refused(const char* why, const char* hint) {
    return {Handling::Refused, why, hint};
}

/// Of a command about one machine, or of an option with which a command is about one machine.
constexpr Meaning aboutThisMachine(const char* hint = "") {
    return {Handling::ThisMachine, "", hint};
}

} // namespace genv::ctl::cluster
