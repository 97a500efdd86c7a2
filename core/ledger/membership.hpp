// SPDX-License-Identifier: LGPL-2.1-or-later
// Membership: which environment a process belongs to. Ancestry is a fact and is checked first. What
// a process claims about itself (its hint) is believed only if a false claim would gain nothing,
// since the process belongs to the environment's owner or is one of the owner's containers. For a
// container the id alone is not sufficient: its environment may have ended, and another one may use
// the id now.
#pragma once

#include "core/model/environment.hpp"
#include "core/ports/observer.hpp"

#include <functional>
#include <vector>

namespace genv::core {

class LedgerView;

/// The functions that look up environments; each returns null if there is none.
struct EnvironmentLookup {
    std::function<const EnvironmentRecord*(const ProcessIdentity& root)> byRoot;
    std::function<const EnvironmentRecord*(const EnvironmentId& id)> byId;
    std::function<const EnvironmentRecord*(const SlurmJobName& job)> byJob;
};

/// Returns a lookup in a ledger.
EnvironmentLookup lookupIn(const LedgerView& ledger);

/// Returns a lookup in a ledger and in `former`, an environment that the ledger has removed or
/// changed. `former` takes precedence.
EnvironmentLookup lookupIn(const LedgerView& ledger, const EnvironmentRecord& former);

/// Returns the environment of a process that is a root process or Jupyter kernel, or descends from
/// one with the owner's uid or 0; null for none. `ancestors` starts with the parent. The nearest
/// root process from which the process may descend decides.
const EnvironmentRecord* environmentOfDescendant(const EnvironmentLookup& lookup,
                                                 const ProcessFacts& process,
                                                 const std::vector<ProcessIdentity>& ancestors);

/// Returns the environment of the Slurm job whose cgroup a process is in; null for none. Only root
/// moves processes into that cgroup, but a process there that changed to another user does not
/// belong to the job: each of its uids must be the owner's or root's.
const EnvironmentRecord* environmentOfJob(const EnvironmentLookup& lookup,
                                          const ProcessFacts& process,
                                          const std::optional<SlurmCgroup>& cgroup);

/// Returns the environment of a compute process: by descent, else by the cgroup of a Slurm job
/// whose owner it runs as, else by its hint; null for none. A hint with a stamp is believed if the
/// stamp matches the environment, the process did not start before it, and either all its uids are
/// the owner's, or all are 0, or its user namespace is the owner's. Without a stamp all its uids
/// must be the owner's.
const EnvironmentRecord* environmentOf(const EnvironmentLookup& lookup,
                                       const ObservedProcess& process);

} // namespace genv::core
