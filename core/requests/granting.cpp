// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/requests/granting.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

/// Facts that the change needs, read before it.
struct Before {
    EnvironmentId id;
    bool exists = false;
    std::optional<std::chrono::seconds> lifetime; ///< of a new environment
    std::optional<Queue::Ticket> abandoned;
};

Before readBefore(const DeviceRequest& request, const RequestGrant& grant,
                  const RequestState& state) {
    const EvaluatedRequest now(request, state);
    const PlannedWait* wait = waitIn(grant.plan);
    return {now.id(), now.environment() != nullptr, now.lifetime(),
            wait != nullptr ? now.abandoned(wait->request) : std::nullopt};
}

NewEnvironment newEnvironment(const DeviceRequest& request, const WantedEnvironment& wanted,
                              const RequestGrant& grant, const Before& before, Member member) {
    NewEnvironment environment{
        before.id, request.owner.uid, request.owner.name, wanted.configuration, {},
        {},        grant.exempt,      before.lifetime};
    // The plan in the question was computed for this lifetime.
    if (grant.plan && placementOf(*grant.plan).lifetime)
        environment.lifetime = placementOf(*grant.plan).lifetime;
    environment.parent = wanted.within;
    environment.priority = request.terms.priority;
    if (auto* jupyterKernel = std::get_if<JupyterKernel>(&member))
        environment.jupyterKernels.push_back(std::move(*jupyterKernel));
    else
        environment.processes.push_back(std::get<RootProcess>(std::move(member)));
    return environment;
}

void join(const EnvironmentId& id, Member member, const std::optional<Plan>& plan,
          const Actor& actor, const Terms& terms, Ledger& ledger) {
    if (auto* jupyterKernel = std::get_if<JupyterKernel>(&member))
        ledger.addJupyterKernel(id, std::move(*jupyterKernel), actor, plan, terms);
    else
        ledger.addProcess(id, std::get<RootProcess>(std::move(member)), actor, plan, terms);
}

void add(const WantedDevices& wanted, const Plan& plan, const Actor& actor, const Terms& terms,
         Ledger& ledger) {
    if (wanted.resumes)
        ledger.resume(wanted.environment, plan, actor, terms);
    else
        ledger.attach(wanted.environment, plan, actor, terms);
}

} // namespace

Granted give(const DeviceRequest& request, const RequestGrant& grant, Member member,
             const Actor& actor, const RequestState& state) {
    Ledger& ledger = state.ledger;
    const Before before = readBefore(request, grant, state);
    Terms terms{grant.exempt, request.terms.lifetime, request.terms.priority};
    if (const auto* starts = std::get_if<WantedEnvironment>(&request.wanted)) {
        requireOwnerOf(starts->id, request.owner.uid, ledger);
        if (before.exists)
            join(before.id, std::move(member), before.abandoned ? std::nullopt : grant.plan, actor,
                 terms, ledger);
        else
            ledger.activate(newEnvironment(request, *starts, grant, before, std::move(member)),
                            grant.plan, actor);
    } else if (!before.abandoned) {
        const auto& adds = std::get<WantedDevices>(request.wanted);
        terms.preemptible = adds.preemptible;
        add(adds, *grant.plan, actor, terms, ledger);
    }
    if (waitIn(grant.plan) == nullptr)
        return {before.id, std::nullopt};
    return {before.id,
            before.abandoned ? before.abandoned : ledger.get(before.id).waits.back().ticket};
}

const EnvironmentRecord* environmentThatWaited(const ProcessIdentity& process, Uid owner,
                                               const LedgerView& ledger, const Queue& queue) {
    const EnvironmentRecord* environment = ledger.environmentOfRoot(process);
    return environment != nullptr && environment->uid == owner && queue.isAbandoned(environment->id)
               ? environment
               : nullptr;
}

const EnvironmentRecord* environmentOfRestarted(const JupyterKernel& jupyterKernel, Uid owner,
                                                const LedgerView& ledger) {
    const auto isIt = [&](const JupyterKernel& known) {
        return known.id == jupyterKernel.id &&
               (known.process.identity == jupyterKernel.process.identity ||
                (known.process.pin && known.process.pin->hasExited()));
    };
    const auto all = ledger.environmentsOf(owner);
    const auto found = std::ranges::find_if(all, [&](const EnvironmentRecord* environment) {
        return std::ranges::any_of(environment->jupyterKernels, isIt);
    });
    return found != all.end() ? *found : nullptr;
}

} // namespace genv::core
