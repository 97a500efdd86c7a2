// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests to the ledger. Each request computes the changed environment and applies it as a whole.
#include "core/caps.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/supposition.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

void requireFresh(const Plan& plan, const DeviceTable& devices, const Requester& requester) {
    if (!stillHolds(plan, devices, requester))
        fail(ErrorCode::DeviceUnavailable, "the devices changed in the meantime; try again");
}

// Replaces an exited process of the same kernel.
void putKernel(std::vector<Kernel>& kernels, Kernel kernel) {
    std::erase_if(kernels, [&](const Kernel& known) {
        return known.id == kernel.id && known.process.pin && known.process.pin->hasExited();
    });
    kernels.push_back(std::move(kernel));
}

} // namespace

void requireAttached(const Environment& environment, const std::vector<DeviceIndex>& indices) {
    const std::vector<DeviceIndex> attached = environment.deviceIndices();
    for (const DeviceIndex index : indices) {
        if (!std::binary_search(attached.begin(), attached.end(), index))
            fail(ErrorCode::NotAttached, "environment {} is not attached to device {}",
                 environment.id, index);
    }
}

void requireLease(const Environment& environment) {
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
    const Environment* other = environmentOfRoot(process);
    if (other != nullptr && other->id != id)
        fail(ErrorCode::AlreadyExists, "process {} is registered with environment {} already",
             process.pid, other->id);
}

Lease Ledger::leaseFor(std::chrono::seconds lifetime) const {
    const BootTime now = clock_.bootNow();
    return {now, now + lifetime};
}

void Ledger::addAttachments(Environment& environment, const Placement& placement,
                            const Terms& terms) {
    std::erase_if(environment.attachments, [&](const Attachment& attachment) {
        return std::find(placement.detach.begin(), placement.detach.end(),
                         attachment.device.uuid) != placement.detach.end();
    });
    const Environment* parent = parentOf(environment);
    const Pool pool(*this, parent);
    for (const Placement::Device& device : placement.attach) {
        const DeviceUuid& uuid = device.facts.uuid;
        const Device* now = pool.devices().findUuid(uuid);
        // If the parent has only a share, that share is the whole device for the child.
        Attachment attachment{device.facts,
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

void Ledger::addWait(Environment& environment, const PlannedWait& plan, const Terms& terms,
                     const Actor& actor, bool startsEnvironment) {
    Wait wait{++lastSequence_, plan.request,   clock_.wallNow(),
              actor,           terms.exempt,   startsEnvironment,
              false,           terms.lifetime, clock_.bootNow(),
              terms.priority};
    wait.holdForQuota = plan.holdForQuota;
    if (plan.isHeld)
        wait.heldSince = wait.began;
    environment.waits.push_back(std::move(wait));
}

void Ledger::carryOut(Environment& environment, const Plan& plan, const Terms& terms,
                      const Actor& actor) {
    if (const auto* wait = std::get_if<PlannedWait>(&plan))
        addWait(environment, *wait, terms, actor, false);
    else
        addAttachments(environment, std::get<Placement>(plan), terms);
}

void Ledger::activate(NewEnvironment wanted, const std::optional<Plan>& plan, const Actor& actor) {
    const auto departed = wanted.kernels.empty()
                              ? departedBy(wanted.processes.at(0).identity, wanted.uid, {})
                              : departedBy(wanted.kernels[0].process.identity, wanted.uid, {});
    Environment environment = [&] {
        const Supposition supposition(*this, departed);
        return started(std::move(wanted), plan, actor);
    }();
    const Cause cause = Cause::request(actor, environment.uid);
    apply({std::move(environment)}, cause, departed);
}

Environment Ledger::started(NewEnvironment wanted, const std::optional<Plan>& plan,
                            const Actor& actor) {
    if (const Environment* existing = find(wanted.id))
        fail(ErrorCode::AlreadyExists, "environment {} exists already and belongs to {}",
             existing->id, existing->user);
    for (const RootProcess& process : wanted.processes)
        requireUnregistered(wanted.id, process.identity);
    for (const Kernel& kernel : wanted.kernels)
        requireUnregistered(wanted.id, kernel.process.identity);
    requireRoom(wanted.uid, actor.uid, 1, wanted.processes.size() + wanted.kernels.size());
    if (wanted.parent)
        requireMayHaveChildren(get(*wanted.parent));

    Environment environment;
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
    environment.kernels = std::move(wanted.kernels);
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
    const Environment& environment = get(id);
    requireNoJob(environment);
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
    Environment next = environment;
    carryOut(next, plan, terms, actor);
    apply({std::move(next)}, Cause::request(actor, environment.uid));
}

void Ledger::grant(std::uint64_t ticket, const Placement& placement,
                   const std::vector<std::uint64_t>& overtaken) {
    const Environment& environment = get(waits_.at(ticket));
    const Wait granted = wait(ticket);
    requireFresh(placement, poolOf(environment).devices(), &environment);
    Environment next = environment;
    std::erase_if(next.waits, [&](const Wait& other) { return other.ticket == ticket; });
    if (!granted.startsEnvironment) {
        addAttachments(next, placement, {granted.exempt, granted.lifetime});
    } else {
        // Its lifetime begins now, with the devices for which it waited.
        if (environment.isWaitingToStart())
            next.began = clock_.bootNow();
        if (granted.lifetime)
            next.lease = leaseFor(*granted.lifetime);
        addAttachments(next, placement, {granted.exempt, std::nullopt});
    }
    const Cause cause = Cause::request(granted.actor, environment.uid);
    std::vector<Environment> nexts;
    for (const std::uint64_t other : overtaken) {
        nexts.push_back(get(waits_.at(other)));
        ++std::ranges::find(nexts.back().waits, other, &Wait::ticket)->overtakings;
    }
    nexts.push_back(std::move(next));
    apply(std::move(nexts), cause);
}

void Ledger::detach(const EnvironmentId& id, const std::vector<DeviceIndex>& indices,
                    const Actor& actor) {
    Environment next = get(id);
    requireNoJob(next);
    requireAttached(next, indices);
    std::erase_if(next.attachments, [&](const Attachment& attachment) {
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
    std::vector<Environment> nexts;
    bool someOthers = false;
    for (const EnvironmentId& holder : ids) {
        Environment next = get(holder);
        requireNoJob(next);
        someOthers = someOthers || next.uid != actor;
        std::erase_if(next.attachments, [&](const Attachment& a) { return a.device.uuid == uuid; });
        nexts.push_back(std::move(next));
    }
    apply(std::move(nexts), {someOthers ? Reason::admin() : Reason::user(), actor, someOthers});
}

void Ledger::extend(Environment& environment, std::chrono::seconds lifetime) const {
    requireLease(environment);
    const Lease lease = leaseFor(lifetime);
    const auto extendOne = [&](std::optional<Lease>& running) {
        if (running && running->until < lease.until)
            running = lease;
    };
    extendOne(environment.lease);
    for (Attachment& attachment : environment.attachments)
        extendOne(attachment.lease);
}

void Ledger::requireNoLongerThanKept(const Environment& before, const Environment& after) const {
    for (const Attachment& attachment : before.attachments) {
        const auto waiting =
            std::find_if(attachment.keptFor.begin(), attachment.keptFor.end(),
                         [this](std::uint64_t ticket) { return waits_.contains(ticket); });
        const auto end = before.endOf(attachment);
        const auto wanted = after.endOf(*after.attachmentTo(attachment.device.uuid));
        if (waiting == attachment.keptFor.end() || !end || (wanted && *wanted <= *end))
            continue;
        const Environment& other = get(waits_.at(*waiting));
        fail(
            ErrorCode::DeviceUnavailable,
            "the lease of environment {} cannot be extended: {} (environment {}) waits for GPU {}, "
            "which was kept for that request and is lent until it can start; detach GPU {} to "
            "extend the rest, or wait in the queue for another one",
            before.id, escaped(other.user), other.id, attachment.device.index,
            attachment.device.index);
    }
}

void Ledger::configure(const EnvironmentId& id, const ConfigurationChange& change,
                       const Actor& actor, bool exempt) {
    Environment next = get(id);
    requireNoJob(next);
    if (change.name)
        next.configuration.name = *change.name;
    if (change.gpus)
        next.configuration.gpus = *change.gpus;
    if (change.gpuMemory)
        next.configuration.gpuMemory = *change.gpuMemory;
    if (change.overSubscribable)
        next.configuration.overSubscribable = *change.overSubscribable;
    if (change.lifetime) {
        next.exempt = next.exempt || exempt;
        if (*change.lifetime) {
            extend(next, **change.lifetime);
        } else {
            next.lease.reset();
            for (Attachment& attachment : next.attachments)
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

void Ledger::addKernel(const EnvironmentId& id, Kernel kernel, const Actor& actor,
                       const std::optional<Plan>& plan, const Terms& terms) {
    join(id, std::nullopt, std::move(kernel), actor, plan, terms);
}

void Ledger::join(const EnvironmentId& id, std::optional<RootProcess> process,
                  std::optional<Kernel> kernel, const Actor& actor, const std::optional<Plan>& plan,
                  const Terms& terms) {
    const Environment& environment = get(id);
    requireNoJob(environment);
    const auto departed =
        departedBy(process ? process->identity : kernel->process.identity, environment.uid, id);
    Environment next = [&] {
        const Supposition supposition(*this, departed);
        return joined(id, std::move(process), std::move(kernel), actor, plan, terms);
    }();
    if (next == environment)
        return;
    const Cause cause = Cause::request(actor, next.uid);
    apply({std::move(next)}, cause, departed);
}

Environment Ledger::joined(const EnvironmentId& id, std::optional<RootProcess> process,
                           std::optional<Kernel> kernel, const Actor& actor,
                           const std::optional<Plan>& plan, const Terms& terms) {
    const Environment& environment = get(id);
    const ProcessIdentity identity = process ? process->identity : kernel->process.identity;
    requireUnregistered(id, identity);
    Environment next = environment;
    next.pendingEnd.reset();
    for (RootProcess& root : next.processes)
        root.lingers = root.lingers && root.identity != identity;
    if (environmentOfRoot(identity) == nullptr) {
        requireRoom(next.uid, actor.uid, 0, 1);
        if (process)
            next.processes.push_back(std::move(*process));
        else
            putKernel(next.kernels, std::move(*kernel));
        for (Wait& wait : next.waits)
            wait.joined = true;
    }
    if (plan) {
        requireFresh(*plan, poolOf(environment).devices(), &environment);
        carryOut(next, *plan, terms, actor);
    }
    return next;
}

void Ledger::removeProcess(const EnvironmentId& id, Pid pid, const Actor& actor) {
    Environment next = get(id);
    requireNoJob(next);
    if (std::erase_if(next.processes,
                      [&](const RootProcess& p) { return p.identity.pid == pid; }) == 0)
        fail(ErrorCode::NoSuchProcess, "process {} is not registered with environment {}", pid, id);
    const Cause cause = Cause::request(actor, next.uid);
    processTakenOut(next, actor);
    apply({std::move(next)}, cause);
}

void Ledger::removeKernel(const EnvironmentId& id, const std::string& kernel, const Actor& actor) {
    Environment next = get(id);
    requireNoJob(next);
    if (std::erase_if(next.kernels, [&](const Kernel& k) { return k.id == kernel; }) == 0)
        fail(ErrorCode::NoSuchProcess, "kernel \"{}\" is not registered with environment {}",
             escaped(kernel), id);
    const Cause cause = Cause::request(actor, next.uid);
    processTakenOut(next, actor);
    apply({std::move(next)}, cause);
}

void Ledger::lock(const EnvironmentId& id, std::uint64_t ticket) {
    Environment next = get(id);
    if (next.attachments.empty())
        fail(ErrorCode::NotAttached, "environment {} is attached to no device", id);
    HeldLock lock{ticket, {}};
    for (const Attachment& attachment : next.attachments)
        lock.devices.push_back(attachment.device.uuid);
    next.locks.push_back(std::move(lock));
    const Cause cause = Cause::request(next.uid, next.uid);
    apply({std::move(next)}, cause);
}

} // namespace genv::core
