// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads single processes from /proc. Every size is limited, because each process chooses what its
// files contain. Any of these functions may block as long as the process's user likes, even for
// `stat` (Linux 6.18). The service therefore calls them in a separate process (proc_reader.hpp).
#pragma once

#include "core/base/descriptor.hpp"
#include "core/base/process.hpp"
#include "core/ports/observer.hpp"
#include "service/processes/proc_text.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// A process's claims about itself, and its surroundings.
struct ProcClaims {
    core::ProcessIdentity identity; ///< the process that makes the claims
    std::optional<core::EnvironmentHint> environmentHint;
    std::optional<core::Uid> userNamespaceOwner;
    bool isMpsServer = false;
    std::optional<core::SlurmCgroup> slurm = {}; ///< the job that owns the process's control group
};

/// The arguments of a process, each terminated by a zero byte.
struct ProcArguments {
    std::string text;
};

/// The login user of the session in which a process runs.
struct ProcLogin {
    std::optional<core::Uid> uid;
};

/// The PID namespace of a process, compared with that of the service.
struct ProcPidNamespace {
    bool isServices = false;
};

/// Reads up to `maxSize` bytes of a file. Returns nothing if the file cannot be read.
std::optional<std::string> readCapped(const std::string& path, std::size_t maxSize);

/// Returns the current facts of a process. Returns nothing if the process is gone, or, with errno
/// set, if reading failed.
std::optional<core::ProcessFacts> readProcess(core::Pid pid);

/// Returns the identity of the process that currently has a PID, or nothing if there is none.
std::optional<core::ProcessIdentity> readIdentity(core::Pid pid);

/// Reads /proc/PID/stat of the ancestors of many processes, most of which have the same ones. It
/// keeps the files open and reads them again: that takes half the time, and returns what is true
/// now, because a file of a process that has ended cannot be read.
class AncestorFiles {
  public:
    /// Returns what the process that currently has this PID says, or nothing if there is none.
    std::optional<ProcStat> read(core::Pid pid);

  private:
    /// Fewer than the soft limit of descriptors on any system, 1024.
    static constexpr std::size_t maxOpen = 256;
    std::map<core::Pid, core::Descriptor> open_;
};

/// The maximum number of ancestors to read, so that no lineage takes forever.
inline constexpr std::size_t maxAncestors = 512;

/// Returns the ancestors of a process, parent first and without PID 1, at most `maxAncestors` of
/// them.
std::vector<core::ProcessIdentity> readAncestors(const core::ProcessFacts& process,
                                                 AncestorFiles& files);

/// Returns the facts and the ancestors of a process.
std::optional<core::Lineage> readLineage(core::Pid pid, AncestorFiles& files);

/// Returns a process's claims. The identity is read last, so a caller that already knew the
/// identity can be sure that all claims belong to that process.
std::optional<ProcClaims> readClaims(core::Pid pid);

/// Returns the environment that a process's initial variables name. Returns nothing if they name
/// none or cannot be read.
std::optional<core::EnvironmentHint> readEnvironmentHint(core::Pid pid);

/// Returns the first 64 KiB of the arguments of a process.
ProcArguments readArguments(core::Pid pid);

/// Returns the login user according to the kernel's audit subsystem, if one is set.
ProcLogin readLogin(core::Pid pid);

/// Returns whether a process is in the PID namespace of this service. Returns nothing if the
/// process is gone, or, with errno set, if reading failed.
std::optional<ProcPidNamespace> readPidNamespace(core::Pid pid);

/// Returns the Slurm job that owns the control group of a process, or nothing if it is in none.
std::optional<core::SlurmCgroup> readSlurmCgroup(core::Pid pid);

/// Returns the owner of a process's user namespace, if that is not this service's namespace. The
/// owner is the user who created it, or who created the outermost namespace around it, because
/// creators of inner namespaces use a uid that the outer user gave them. Namespaces that root
/// created are skipped: root creates them for others, in a daemon or a setuid program.
std::optional<core::Uid> readUserNamespaceOwner(core::Pid pid);

/// Returns whether a process is the MPS server that root installed and started. Its executable must
/// be the file at the same path in this service's own mount namespace, where only root can install
/// it. Its parent must be the control daemon, installed the same way and with root's uids.
bool isMpsServer(core::Pid pid);

/// Returns all current PIDs. Never blocks, because no process is read.
std::vector<core::Pid> listProcesses();

} // namespace genv::service
