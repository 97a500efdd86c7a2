// SPDX-License-Identifier: LGPL-2.1-or-later
// How environments end: immediately if they hold no device or may not linger, otherwise once a
// sample has shown that none of their compute processes uses one of their devices.
#include "core/ledger/ledger.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

void Ledger::lastProcessWent(EnvironmentRecord& next, const EnvironmentRecord& before,
                             bool byOwner) const {
    if (next.isRegistered() || next.hasParked())
        return;
    auto members =
        next.attachments.empty() || !lingerPolicy_ ? std::nullopt : lingerPolicy_(before);
    if (!members) {
        next.end();
        return;
    }
    if (before.pendingEnd)
        members->insert(members->end(), before.pendingEnd->members.begin(),
                        before.pendingEnd->members.end());
    for (const RootProcess& root : before.processes)
        members->push_back(root.identity);
    for (const JupyterKernel& jupyterKernel : before.jupyterKernels)
        members->push_back(jupyterKernel.process.identity);
    next.pendingEnd = PendingEnd{byOwner, *std::move(members)};
    next.waits.clear();
}

// Handles a process or Jupyter kernel that somebody unregistered from an environment.
void Ledger::processTakenOut(EnvironmentRecord& next, const Actor& actor) const {
    const EnvironmentRecord& before = get(next.id);
    if (next.isRegistered() || (!before.isRegistered() && !next.processes.empty()))
        return;
    if (actor == next.uid)
        lastProcessWent(next, before, true);
    else
        next.endWithParked(Reason::admin().text());
}

void Ledger::deactivate(const EnvironmentId& id, const Actor& actor) {
    const EnvironmentRecord& environment = get(id);
    EnvironmentRecord next = environment;
    if (environment.job) { // Slurm ends the processes of the job itself
        if (actor != 0)
            requireNoJob(environment);
        next.end();
        apply({std::move(next)}, Cause::fact(Reason::job()));
        return;
    }
    const Cause cause = Cause::request(actor, environment.uid);
    if (actor == next.uid) {
        next.jupyterKernels.clear();
        std::erase_if(next.processes, [](const RootProcess& root) { return !root.lingers; });
        lastProcessWent(next, environment, true);
        if (next.isAlive() && !environment.isRegistered())
            return;
    } else {
        next.endWithParked(cause.reason.text());
    }
    apply({std::move(next)}, cause);
}

void Ledger::concludeEnd(const EnvironmentId& id, std::vector<RootProcess> users,
                         const std::set<DeviceUuid>& used) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr || !environment->pendingEnd)
        return;
    const Cause cause = environment->pendingEnd->byOwner
                            ? Cause::request(environment->uid, environment->uid)
                            : Cause::fact(Reason::processExit());
    EnvironmentRecord next = *environment;
    next.end();
    next.processes = std::move(users);
    for (RootProcess& root : next.processes)
        root.lingers = true;
    std::erase_if(next.attachments, [&](const DeviceAttachment& attachment) {
        return !next.processes.empty() && !used.contains(attachment.device.uuid);
    });
    applyFact(std::move(next), cause);
}

// A use by the holder's own process must not mark the device as occupied, even if it began in the
// process's previous environment.
void Ledger::markTaken(const EnvironmentRecord& departed, const EnvironmentRecord& taker) {
    const auto isRoot = [&](Pid pid) {
        const auto isIt = [&](const ProcessIdentity& process) { return process.pid == pid; };
        return std::ranges::any_of(taker.processes, isIt, &RootProcess::identity) ||
               std::ranges::any_of(taker.jupyterKernels, [&](const JupyterKernel& jupyterKernel) {
                   return isIt(jupyterKernel.process.identity);
               });
    };
    for (const DeviceIndex index : taker.deviceIndices()) {
        if (devices_.find(index) == nullptr)
            continue;
        auto& users = devices_.at(index).users;
        const auto user = users.find(departed.id);
        if (user != users.end() && isRoot(user->second.pid))
            users.erase(user);
    }
}

} // namespace genv::core
