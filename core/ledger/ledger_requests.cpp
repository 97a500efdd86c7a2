// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests to the ledger. Each request computes the changed environment and applies it as a whole.
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/supposition.hpp"
#include "core/settings/caps.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

void requireFresh(const Plan& plan, const DeviceTable& devices, const Requester& requester) {
    if (!stillHolds(plan, devices, requester))
        fail(ErrorCode::DeviceUnavailable, "the devices changed in the meantime; try again");
}

// Replaces an exited process of the same Jupyter kernel.
void putJupyterKernel(std::vector<JupyterKernel>& jupyterKernels, JupyterKernel jupyterKernel) {
    std::erase_if(jupyterKernels, [&](const JupyterKernel& known) {
        return known.id == jupyterKernel.id && known.process.pin && known.process.pin->hasExited();
    });
    jupyterKernels.push_back(std::move(jupyterKernel));
}

void setPreemptible(EnvironmentRecord& environment, Preemptible preemptible) {
    environment.configuration.preemptible = preemptible;
    environment.loanFailed = environment.loanFailed && preemptible != Preemptible::No;
}

} // namespace

void requireAttached(const EnvironmentRecord& environment,
                     const std::vector<DeviceIndex>& indices) {
    const std::vector<DeviceIndex> attached = environment.deviceIndices();
    for (const DeviceIndex index : indices) {
        if (!std::binary_search(attached.begin(), attached.end(), index))
            fail(ErrorCode::NotAttached, "environment {} is not attached to device {}",
                 environment.id, index);
    }
}

void requireLease(const EnvironmentRecord& environment) {
    if (!environment.firstLease())
        fail(
            ErrorCode::InvalidArgs,
            "environment {} has no lease: it does not end by itself, so there is nothing to extend",
            environment.id);
}

void Ledger::requireRoom(Uid uid, Uid actor, std::size_t environments,
                         std::size_t processes) const {
    if (actor == 0)
        return;
    const auto found = users_.find(uid);
    const std::size_t hasEnvironments =
        found == users_.end() ? 0 : found->second.environments.size() - found->second.jobs;
    const std::size_t hasProcesses = found == users_.end() ? 0 : found->second.processes;
    if (hasEnvironments + environments > caps::environmentsPerUser)
        fail(ErrorCode::LimitsExceeded,
             "a user may have at most {} environments; deactivate one first",
             caps::environmentsPerUser);
    if (hasProcesses + processes > caps::processesPerUser)
        fail(ErrorCode::LimitsExceeded,
             "a user may have at most {} processes registered with environments; remove one first",
             caps::processesPerUser);
}

void Ledger::requireUnregistered(const EnvironmentId& id, const ProcessIdentity& process) const {
    const EnvironmentRecord* other = environmentOfRoot(process);
    if (other != nullptr && other->id != id)
        fail(ErrorCode::AlreadyExists, "process {} is registered with environment {} already",
             process.pid, other->id);
}

Lease Ledger::leaseFor(std::chrono::seconds lifetime) const {
    const BootTime now = clock_.bootNow();
    return {now, now + lifetime};
}

void Ledger::addAttachments(EnvironmentRecord& environment, const Placement& placement,
                            const Terms& terms) {
    std::erase_if(environment.attachments, [&](const DeviceAttachment& attachment) {
        return std::find(placement.detach.begin(), placement.detach.end(),
                         attachment.device.uuid) != placement.detach.end();
    });
    const EnvironmentRecord* parent = parentOf(environment);
    const Pool pool(*this, parent);
    for (const Placement::Device& device : placement.attach) {
        const DeviceUuid& uuid = device.facts.uuid;
        const TableDevice* now = pool.devices().findUuid(uuid);
        // If the parent has only a share, that share is the whole device for the child.
        DeviceAttachment attachment{device.facts,
                                    placement.share ? placement.share : now->capacity,
                                    !now->isAvailable(placement.share),
                                    terms.exempt ||
                                        (parent != nullptr && parent->attachmentTo(uuid)->exempt),
                                    clock_.wallNow(),
                                    ++lastSequence_,
                                    std::nullopt,
                                    device.keptFor,
                                    false,
                                    clock_.bootNow()};
        if (terms.lifetime)
            attachment.lease = leaseFor(*terms.lifetime);
        environment.attachments.push_back(std::move(attachment));
    }
}

void Ledger::addWait(EnvironmentRecord& environment, const PlannedWait& plan, const Terms& terms,
                     const Actor& actor, bool startsEnvironment) {
    Wait wait{++lastSequence_, plan.request,   clock_.wallNow(),
              actor,           terms.exempt,   startsEnvironment,
              false,           terms.lifetime, clock_.bootNow(),
              terms.priority};
    wait.holdForQuota = plan.holdForQuota;
    wait.takesOnly = plan.takesOnly;
    if (plan.isHeld)
        wait.heldSince = wait.began;
    environment.waits.push_back(std::move(wait));
}

void Ledger::carryOut(EnvironmentRecord& environment, const Plan& plan, const Terms& terms,
                      const Actor& actor) {
    if (terms.preemptible)
        setPreemptible(environment, *terms.preemptible);
    if (const auto* wait = std::get_if<PlannedWait>(&plan))
        addWait(environment, *wait, terms, actor, false);
    else
        addAttachments(environment, std::get<Placement>(plan), terms);
}

void Ledger::activate(NewEnvironment wanted, const std::optional<Plan>& plan, const Actor& actor) {
    const auto departed =
        wanted.jupyterKernels.empty()
            ? departedBy(wanted.processes.at(0).identity, wanted.uid, {})
            : departedBy(wanted.jupyterKernels[0].process.identity, wanted.uid, {});
    EnvironmentRecord environment = [&] {
        const Supposition supposition(*this, departed);
        return started(std::move(wanted), plan, actor);
    }();
    const Cause cause = Cause::request(actor, environment.uid);
    apply({std::move(environment)}, cause, departed);
}

EnvironmentRecord Ledger::started(NewEnvironment wanted, const std::optional<Plan>& plan,
                                  const Actor& actor) {
    if (const EnvironmentRecord* existing = find(wanted.id))
        fail(ErrorCode::AlreadyExists, "environment {} exists already and belongs to {}",
             existing->id, existing->user);
    for (const RootProcess& process : wanted.processes)
        requireUnregistered(wanted.id, process.identity);
    for (const JupyterKernel& jupyterKernel : wanted.jupyterKernels)
        requireUnregistered(wanted.id, jupyterKernel.process.identity);
    requireRoom(wanted.uid, actor.uid, 1, wanted.processes.size() + wanted.jupyterKernels.size());
    if (wanted.parent) {
        requireMayHaveChildren(get(*wanted.parent));
        requireNotParking(get(*wanted.parent));
    }

    EnvironmentRecord environment;
    environment.parent = std::move(wanted.parent);
    environment.id = std::move(wanted.id);
    environment.uid = wanted.uid;
    environment.user = std::move(wanted.user);
    environment.created = clock_.wallNow();
    environment.createdSinceBoot = clock_.bootNow();
    environment.began = environment.createdSinceBoot;
    environment.exempt = wanted.exempt;
    environment.sequence = ++lastSequence_;
    environment.configuration = std::move(wanted.configuration);
    environment.processes = std::move(wanted.processes);
    environment.jupyterKernels = std::move(wanted.jupyterKernels);
    const Terms terms{wanted.exempt, wanted.lifetime, wanted.priority};
    if (const auto* wait = plan ? std::get_if<PlannedWait>(&*plan) : nullptr) {
        addWait(environment, *wait, terms, actor, true);
        return environment;
    }
    if (plan) {
        requireFresh(*plan, poolOf(environment).devices(), Requester(environment.uid));
        addAttachments(environment, std::get<Placement>(*plan), {terms.exempt, std::nullopt});
    }
    if (terms.lifetime)
        environment.lease = leaseFor(*terms.lifetime);
    return environment;
}

void Ledger::attach(const EnvironmentId& id, const Plan& plan, const Actor& actor,
                    const Terms& terms) {
    const EnvironmentRecord& environment = get(id);
    requireNoJob(environment);
    requireNotParking(environment);
    if (!environment.isRegistered())
        fail(
            ErrorCode::NoSuchProcess,
            "environment {} has no process any more and only keeps the GPUs that are still in use; "
            "activate it again first",
            id);
    requireFresh(plan, poolOf(environment).devices(), &environment);
    const auto* placement = std::get_if<Placement>(&plan);
    if (placement != nullptr && placement->attach.empty() && placement->detach.empty())
        return;
    EnvironmentRecord next = environment;
    carryOut(next, plan, terms, actor);
    apply({std::move(next)}, Cause::request(actor, environment.uid));
}

void Ledger::grant(std::uint64_t ticket, const Placement& placement,
                   const std::vector<std::uint64_t>& overtaken) {
    const EnvironmentRecord& environment = get(waits_.at(ticket));
    const Wait granted = wait(ticket);
    requireFresh(placement, poolOf(environment).devices(), &environment);
    EnvironmentRecord next = environment;
    std::erase_if(next.waits, [&](const Wait& other) { return other.ticket == ticket; });
    if (!granted.startsEnvironment) {
        addAttachments(next, placement, {granted.exempt, granted.lifetime});
        settleResumed(next);
    } else {
        // Its lifetime begins now, with the devices for which it waited.
        if (environment.isWaitingToStart())
            next.began = clock_.bootNow();
        if (granted.lifetime)
            next.lease = leaseFor(*granted.lifetime);
        addAttachments(next, placement, {granted.exempt, std::nullopt});
    }
    const Cause cause = Cause::request(granted.actor, environment.uid);
    std::vector<EnvironmentRecord> nexts;
    for (const std::uint64_t other : overtaken) {
        nexts.push_back(get(waits_.at(other)));
        ++std::ranges::find(nexts.back().waits, other, &Wait::ticket)->overtakings;
    }
    nexts.push_back(std::move(next));
    apply(std::move(nexts), cause);
}

void Ledger::detach(const EnvironmentId& id, const std::vector<DeviceIndex>& indices,
                    const Actor& actor) {
    EnvironmentRecord next = get(id);
    requireNoJob(next);
    requireNotParking(next);
    requireAttached(next, indices);
    std::erase_if(next.attachments, [&](const DeviceAttachment& attachment) {
        return indices.empty() ||
               std::find(indices.begin(), indices.end(), attachment.device.index) != indices.end();
    });
    const Cause cause = Cause::request(actor, next.uid);
    if (next.attachments.size() != get(id).attachments.size())
        apply({std::move(next)}, cause);
}

void Ledger::detachDevice(DeviceIndex index, const std::optional<EnvironmentId>& id,
                          const Actor& actor) {
    const DeviceUuid uuid = device(index).facts.uuid;
    std::vector<EnvironmentId> ids = holdersOf(uuid);
    std::erase_if(ids,
                  [this](const EnvironmentId& holder) { return get(holder).parent.has_value(); });
    if (id) {
        if (get(*id).attachmentTo(uuid) == nullptr)
            fail(ErrorCode::NotAttached, "environment {} is not attached to device {}", *id, index);
        ids = {*id};
    }
    std::vector<EnvironmentRecord> nexts;
    bool someOthers = false;
    for (const EnvironmentId& holder : ids) {
        EnvironmentRecord next = get(holder);
        requireNoJob(next);
        someOthers = someOthers || next.uid != actor;
        std::erase_if(next.attachments,
                      [&](const DeviceAttachment& a) { return a.device.uuid == uuid; });
        nexts.push_back(std::move(next));
    }
    apply(std::move(nexts), {someOthers ? Reason::admin() : Reason::user(), actor, someOthers});
}

void Ledger::extend(EnvironmentRecord& environment, std::chrono::seconds lifetime) const {
    requireLease(environment);
    const Lease lease = leaseFor(lifetime);
    const auto extendOne = [&](std::optional<Lease>& running) {
        if (running && running->until < lease.until)
            running = lease;
    };
    extendOne(environment.lease);
    for (DeviceAttachment& attachment : environment.attachments)
        extendOne(attachment.lease);
}

void Ledger::requireNoLongerThanKept(const EnvironmentRecord& before,
                                     const EnvironmentRecord& after) const {
    for (const DeviceAttachment& attachment : before.attachments) {
        const auto waiting =
            std::find_if(attachment.keptFor.begin(), attachment.keptFor.end(),
                         [this](std::uint64_t ticket) { return waits_.contains(ticket); });
        const auto end = before.endOf(attachment);
        const auto wanted = after.endOf(*after.attachmentTo(attachment.device.uuid));
        if (waiting == attachment.keptFor.end() || !end || (wanted && *wanted <= *end))
            continue;
        const EnvironmentRecord& other = get(waits_.at(*waiting));
        fail(
            ErrorCode::DeviceUnavailable,
            "the lease of environment {} cannot be extended: {} (environment {}) waits for GPU {}, "
            "which was kept for that request and is lent until it can start; detach GPU {} to "
            "extend the rest, or wait in the queue for another one",
            before.id, escaped(other.user), other.id, attachment.device.index,
            attachment.device.index);
    }
}

void Ledger::configure(const EnvironmentId& id, const EnvironmentConfigurationChange& change,
                       const Actor& actor, bool exempt) {
    EnvironmentRecord next = get(id);
    requireNoJob(next);
    if (change.name)
        next.configuration.name = *change.name;
    if (change.gpus)
        next.configuration.gpus = *change.gpus;
    if (change.gpuMemory)
        next.configuration.gpuMemory = *change.gpuMemory;
    if (change.overSubscribable)
        next.configuration.overSubscribable = *change.overSubscribable;
    if (change.preemptible)
        setPreemptible(next, *change.preemptible);
    if (change.lifetime) {
        requireNotParking(next);
        next.exempt = next.exempt || exempt;
        if (*change.lifetime) {
            extend(next, **change.lifetime);
        } else {
            next.lease.reset();
            for (DeviceAttachment& attachment : next.attachments)
                attachment.lease.reset();
        }
        requireNoLongerThanKept(get(id), next);
    }
    if (next == get(id))
        return;
    const Cause cause = Cause::request(actor, next.uid);
    apply({std::move(next)}, cause);
}

void Ledger::addProcess(const EnvironmentId& id, RootProcess process, const Actor& actor,
                        const std::optional<Plan>& plan, const Terms& terms) {
    join(id, std::move(process), std::nullopt, actor, plan, terms);
}

void Ledger::addJupyterKernel(const EnvironmentId& id, JupyterKernel jupyterKernel,
                              const Actor& actor, const std::optional<Plan>& plan,
                              const Terms& terms) {
    join(id, std::nullopt, std::move(jupyterKernel), actor, plan, terms);
}

void Ledger::join(const EnvironmentId& id, std::optional<RootProcess> process,
                  std::optional<JupyterKernel> jupyterKernel, const Actor& actor,
                  const std::optional<Plan>& plan, const Terms& terms) {
    const EnvironmentRecord& environment = get(id);
    requireNoJob(environment);
    const auto departed = departedBy(process ? process->identity : jupyterKernel->process.identity,
                                     environment.uid, id);
    EnvironmentRecord next = [&] {
        const Supposition supposition(*this, departed);
        return joined(id, std::move(process), std::move(jupyterKernel), actor, plan, terms);
    }();
    if (next == environment)
        return;
    const Cause cause = Cause::request(actor, next.uid);
    apply({std::move(next)}, cause, departed);
}

EnvironmentRecord Ledger::joined(const EnvironmentId& id, std::optional<RootProcess> process,
                                 std::optional<JupyterKernel> jupyterKernel, const Actor& actor,
                                 const std::optional<Plan>& plan, const Terms& terms) {
    const EnvironmentRecord& environment = get(id);
    const ProcessIdentity identity = process ? process->identity : jupyterKernel->process.identity;
    requireUnregistered(id, identity);
    EnvironmentRecord next = environment;
    next.pendingEnd.reset();
    for (RootProcess& root : next.processes)
        root.lingers = root.lingers && root.identity != identity;
    if (environmentOfRoot(identity) == nullptr) {
        requireRoom(next.uid, actor.uid, 0, 1);
        if (process)
            next.processes.push_back(std::move(*process));
        else
            putJupyterKernel(next.jupyterKernels, std::move(*jupyterKernel));
        for (Wait& wait : next.waits)
            wait.joined = true;
    }
    if (plan) {
        requireNotParking(environment);
        requireFresh(*plan, poolOf(environment).devices(), &environment);
        carryOut(next, *plan, terms, actor);
    }
    return next;
}

void Ledger::removeProcess(const EnvironmentId& id, Pid pid, const Actor& actor) {
    EnvironmentRecord next = get(id);
    requireNoJob(next);
    if (std::erase_if(next.processes,
                      [&](const RootProcess& p) { return p.identity.pid == pid; }) == 0)
        fail(ErrorCode::NoSuchProcess, "process {} is not registered with environment {}", pid, id);
    const Cause cause = Cause::request(actor, next.uid);
    processTakenOut(next, actor);
    apply({std::move(next)}, cause);
}

void Ledger::removeJupyterKernel(const EnvironmentId& id, const std::string& jupyterKernel,
                                 const Actor& actor) {
    EnvironmentRecord next = get(id);
    requireNoJob(next);
    if (std::erase_if(next.jupyterKernels,
                      [&](const JupyterKernel& k) { return k.id == jupyterKernel; }) == 0)
        fail(ErrorCode::NoSuchProcess, "kernel \"{}\" is not registered with environment {}",
             escaped(jupyterKernel), id);
    const Cause cause = Cause::request(actor, next.uid);
    processTakenOut(next, actor);
    apply({std::move(next)}, cause);
}

void Ledger::lock(const EnvironmentId& id, std::uint64_t ticket) {
    EnvironmentRecord next = get(id);
    if (next.attachments.empty())
        fail(ErrorCode::NotAttached, "environment {} is attached to no device", id);
    HeldLock lock{ticket, {}};
    for (const DeviceAttachment& attachment : next.attachments)
        lock.devices.push_back(attachment.device.uuid);
    next.locks.push_back(std::move(lock));
    const Cause cause = Cause::request(next.uid, next.uid);
    apply({std::move(next)}, cause);
}

} // namespace genv::core
