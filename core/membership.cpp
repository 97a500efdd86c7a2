// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/membership.hpp"

#include "core/ledger.hpp"

#include <algorithm>

namespace genv::core {

namespace {

bool mayDescend(const ProcessFacts& process, const Environment& environment) {
    return process.uids.areAll(environment.uid) || process.uids.areAll(0);
}

bool isRootOf(const Environment& environment, const ProcessIdentity& process) {
    const auto is = [&](const RootProcess& root) { return root.identity == process; };
    return std::any_of(environment.processes.begin(), environment.processes.end(), is) ||
           std::any_of(environment.kernels.begin(), environment.kernels.end(),
                       [&](const Kernel& kernel) { return is(kernel.process); });
}

// Returns whether a process belongs to the environment that its hint names.
bool isBelieved(const ComputeProcess& process, const Environment& claimed) {
    const std::optional<WallTime>& stamp = process.environmentHint->created;
    if (!stamp)
        return process.facts.uids.areAll(claimed.uid);
    return *stamp == claimed.created &&
           process.facts.identity.startedBefore() > claimed.createdSinceBoot &&
           (mayDescend(process.facts, claimed) || process.userNamespaceOwner == claimed.uid);
}

} // namespace

EnvironmentLookup lookupIn(const Ledger& ledger) {
    return {[&ledger](const ProcessIdentity& root) {
                const Environment* environment = ledger.environmentOfRoot(root);
                return environment != nullptr ? environment : ledger.environmentOfFormer(root);
            },
            [&ledger](const EnvironmentId& id) { return ledger.find(id); },
            [&ledger](const SlurmJobName& job) { return ledger.findJob(job); }};
}

EnvironmentLookup lookupIn(const Ledger& ledger, const Environment& former) {
    return {[&](const ProcessIdentity& root) {
                return isRootOf(former, root) ? &former : ledger.environmentOfRoot(root);
            },
            [&](const EnvironmentId& id) { return id == former.id ? &former : ledger.find(id); },
            [&](const SlurmJobName& job) {
                return former.job && isNamed(*former.job, job) ? &former : ledger.findJob(job);
            }};
}

const Environment* environmentOfDescendant(const EnvironmentLookup& lookup,
                                           const ProcessFacts& process,
                                           const std::vector<ProcessIdentity>& ancestors) {
    if (const Environment* own = lookup.byRoot(process.identity))
        return own;
    for (const ProcessIdentity& ancestor : ancestors) {
        const Environment* environment = lookup.byRoot(ancestor);
        if (environment != nullptr && mayDescend(process, *environment))
            return environment;
    }
    return nullptr;
}

const Environment* environmentOfJob(const EnvironmentLookup& lookup, const ProcessFacts& process,
                                    const std::optional<SlurmCgroup>& cgroup) {
    if (!cgroup)
        return nullptr;
    const Environment* environment = lookup.byJob(cgroup->job);
    const bool isIn = environment != nullptr &&
                      cgroup->owner.value_or(environment->uid) == environment->uid &&
                      process.uids.areOnly(environment->uid);
    return isIn ? environment : nullptr;
}

const Environment* environmentOf(const EnvironmentLookup& lookup, const ComputeProcess& process) {
    if (const Environment* environment =
            environmentOfDescendant(lookup, process.facts, process.ancestors))
        return environment;
    if (const Environment* environment = environmentOfJob(lookup, process.facts, process.slurm))
        return environment;
    if (!process.environmentHint)
        return nullptr;
    const Environment* claimed = lookup.byId(process.environmentHint->id);
    return claimed != nullptr && isBelieved(process, *claimed) ? claimed : nullptr;
}

} // namespace genv::core
