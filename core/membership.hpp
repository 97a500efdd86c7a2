// SPDX-License-Identifier: LGPL-2.1-or-later
// Membership: which environment a process belongs to. Ancestry is a fact and comes first; what a
// process says of itself is believed only where lying would gain nothing, since the process is the
// owner's or a container of theirs. An id alone is not enough for a container: its environment may
// have ended, and the id be another's by now.
#pragma once

#include "core/environment.hpp"
#include "core/ports/observer.hpp"

#include <functional>
#include <vector>

namespace genv::core {

class Ledger;

/// Where membership looks environments up; each answers null for none.
struct EnvironmentLookup {
    std::function<const Environment*(const ProcessIdentity& root)> byRoot;
    std::function<const Environment*(const EnvironmentId& id)> byId;
};

/// The environments of a ledger.
EnvironmentLookup lookupIn(const Ledger& ledger);

/// The environments of a ledger and one that it no longer has, or has changed: that one first.
EnvironmentLookup lookupIn(const Ledger& ledger, const Environment& former);

/// The environment of a process that is a root process or kernel, or descends from one with the
/// owner's uid or 0; null for none. The ancestors are given parent first; the nearest root process
/// that it may descend from decides.
const Environment* environmentOfDescendant(const EnvironmentLookup& lookup,
                                           const ProcessFacts& process,
                                           const std::vector<ProcessIdentity>& ancestors);

/// The environment of the Slurm job in whose control group a process is; null for none. Root alone
/// moves processes there, but what became another user's there is not the job's: each of its uids
/// is the owner's or root's.
const Environment* environmentOfJob(const EnvironmentLookup& lookup, const ProcessFacts& process,
                                    const std::optional<SlurmCgroup>& cgroup);

/// The environment of a compute process: by descent, else by the control group of a Slurm job whose
/// owner it runs as, else by its hint; null for none. A hint with a
/// stamp is believed where the stamp is that environment's, the process started no earlier, and all
/// its uids are the owner's or all are 0, or its user namespace is the owner's. Without a stamp all
/// its uids must be the owner's.
const Environment* environmentOf(const EnvironmentLookup& lookup, const ComputeProcess& process);

} // namespace genv::core
