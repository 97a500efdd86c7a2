// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/membership.hpp"

#include "core/ledger/ledger_view.hpp"

#include <algorithm>

namespace genv::core {

namespace {

bool mayDescend(const ProcessFacts& process, const EnvironmentRecord& environment) {
    return process.uids.areAll(environment.uid) || process.uids.areAll(0);
}

bool isRootOf(const EnvironmentRecord& environment, const ProcessIdentity& process) {
    const auto is = [&](const RootProcess& root) { return root.identity == process; };
    return std::any_of(environment.processes.begin(), environment.processes.end(), is) ||
           std::any_of(
               environment.jupyterKernels.begin(), environment.jupyterKernels.end(),
               [&](const JupyterKernel& jupyterKernel) { return is(jupyterKernel.process); });
}

// Returns whether a process belongs to the environment that its hint names.
bool isBelieved(const ObservedProcess& process, const EnvironmentRecord& claimed) {
    const std::optional<WallTime>& stamp = process.environmentHint->created;
    if (!stamp)
        return process.facts.uids.areAll(claimed.uid);
    return *stamp == claimed.created &&
           process.facts.identity.startedBefore() > claimed.createdSinceBoot &&
           (mayDescend(process.facts, claimed) || process.userNamespaceOwner == claimed.uid);
}

} // namespace

EnvironmentLookup lookupIn(const LedgerView& ledger) {
    return {[&ledger](const ProcessIdentity& root) {
                const EnvironmentRecord* environment = ledger.environmentOfRoot(root);
                return environment != nullptr ? environment : ledger.environmentOfFormer(root);
            },
            [&ledger](const EnvironmentId& id) { return ledger.find(id); },
            [&ledger](const SlurmJobName& job) { return ledger.findJob(job); }};
}

EnvironmentLookup lookupIn(const LedgerView& ledger, const EnvironmentRecord& former) {
    return {[&](const ProcessIdentity& root) {
                return isRootOf(former, root) ? &former : ledger.environmentOfRoot(root);
            },
            [&](const EnvironmentId& id) { return id == former.id ? &former : ledger.find(id); },
            [&](const SlurmJobName& job) {
                return former.job && isNamed(*former.job, job) ? &former : ledger.findJob(job);
            }};
}

const EnvironmentRecord* environmentOfDescendant(const EnvironmentLookup& lookup,
                                                 const ProcessFacts& process,
                                                 const std::vector<ProcessIdentity>& ancestors) {
    if (const EnvironmentRecord* own = lookup.byRoot(process.identity))
        return own;
    for (const ProcessIdentity& ancestor : ancestors) {
        const EnvironmentRecord* environment = lookup.byRoot(ancestor);
        if (environment != nullptr && mayDescend(process, *environment))
            return environment;
    }
    return nullptr;
}

const EnvironmentRecord* environmentOfJob(const EnvironmentLookup& lookup,
                                          const ProcessFacts& process,
                                          const std::optional<SlurmCgroup>& cgroup) {
    if (!cgroup)
        return nullptr;
    const EnvironmentRecord* environment = lookup.byJob(cgroup->job);
    const bool isIn = environment != nullptr &&
                      cgroup->owner.value_or(environment->uid) == environment->uid &&
                      process.uids.areOnly(environment->uid);
    return isIn ? environment : nullptr;
}

const EnvironmentRecord* environmentOf(const EnvironmentLookup& lookup,
                                       const ObservedProcess& process) {
    if (const EnvironmentRecord* environment =
            environmentOfDescendant(lookup, process.facts, process.ancestors))
        return environment;
    if (const EnvironmentRecord* environment =
            environmentOfJob(lookup, process.facts, process.slurm))
        return environment;
    if (!process.environmentHint)
        return nullptr;
    const EnvironmentRecord* claimed = lookup.byId(process.environmentHint->id);
    return claimed != nullptr && isBelieved(process, *claimed) ? claimed : nullptr;
}

} // namespace genv::core
