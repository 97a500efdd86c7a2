// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads single processes from /proc, with every size capped: what a process says of itself is its
// own choice. Each of these may block for as long as the process's user likes, `stat` included
// (Linux 6.18), so the service has them called in a process of its own (proc_reader.hpp).
#pragma once

#include "core/ports/observer.hpp"
#include "core/process.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// What a process says of itself, and where it lives.
struct ProcClaims {
    core::ProcessIdentity identity; ///< whose claims they are
    std::optional<core::EnvironmentHint> environmentHint;
    std::optional<core::Uid> userNamespaceOwner;
    bool isMpsServer = false;
    std::optional<core::SlurmCgroup> slurm = {}; ///< the job in whose control group it is
};

/// The arguments of a process, each ended by a zero.
struct ProcArguments {
    std::string text;
};

/// The user who logged in, in whose session a process is.
struct ProcLogin {
    std::optional<core::Uid> uid;
};

/// Reads up to `most` bytes of a file; nothing when it cannot be read.
std::optional<std::string> readCapped(const std::string& path, std::size_t most);

/// A process as it is now; nothing when it is gone, or with errno set when the reading failed.
std::optional<core::ProcessFacts> readProcess(core::Pid pid);

/// Which process has a pid now; nothing when none has.
std::optional<core::ProcessIdentity> readIdentity(core::Pid pid);

/// How many ancestors of a process are read at most: nobody's lineage takes for ever.
inline constexpr std::size_t mostAncestors = 512;

/// The ancestors of a process, parent first and without pid 1, at most `mostAncestors` of them.
std::vector<core::ProcessIdentity> readAncestors(const core::ProcessFacts& process);

/// The two together.
std::optional<core::Lineage> readLineage(core::Pid pid);

/// What a process claims. Its identity is read last, so that a reader who knew it before knows that
/// all is of that process.
std::optional<ProcClaims> readClaims(core::Pid pid);

/// What the variables that a process was started with say of its environment; nothing where they
/// name none or cannot be read.
std::optional<core::EnvironmentHint> readEnvironmentHint(core::Pid pid);

/// The arguments of a process, as far as the first 64 KiB go.
ProcArguments readArguments(core::Pid pid);

/// Who logged in, as the kernel's audit has it: nobody where it has none.
ProcLogin readLogin(core::Pid pid);

/// The Slurm job in whose control group a process is; nothing where it is in none.
std::optional<core::SlurmCgroup> readSlurmCgroup(core::Pid pid);

/// Whose the user namespace of a process is, when it is not this service's namespace: the user who
/// made it or the outermost one that it lies in, since who makes one inside theirs has a uid that
/// they gave. Root's are left out: it makes them for others, as a daemon or a setuid program does.
std::optional<core::Uid> readUserNamespaceOwner(core::Pid pid);

/// Whether a process is the MPS server that root installed and started: it runs the file that has
/// its name in this service's own mount namespace, where root alone could put it, and its parent is
/// the control daemon, installed in the same way and with root's uids.
bool isMpsServer(core::Pid pid);

/// All pids there are now. Never blocks: no process is read.
std::vector<core::Pid> listProcesses();

} // namespace genv::service
