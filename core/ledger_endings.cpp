// SPDX-License-Identifier: LGPL-2.1-or-later
// How environments end: immediately if they hold no device or may not linger, otherwise once a
// sample has shown that none of their compute processes uses one of their devices.
#include "core/ledger.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

void Ledger::lastProcessWent(Environment& next, const Environment& before, bool byOwner) const {
    if (next.isRegistered())
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
    for (const Kernel& kernel : before.kernels)
        members->push_back(kernel.process.identity);
    next.pendingEnd = PendingEnd{byOwner, *std::move(members)};
    next.waits.clear();
}

// Handles a process or kernel that somebody unregistered from an environment.
void Ledger::processTakenOut(Environment& next, const Actor& actor) const {
    const Environment& before = get(next.id);
    if (next.isRegistered() || (!before.isRegistered() && !next.processes.empty()))
        return;
    if (actor == next.uid)
        lastProcessWent(next, before, true);
    else
        next.end();
}

void Ledger::deactivate(const EnvironmentId& id, const Actor& actor) {
    const Environment& environment = get(id);
    Environment next = environment;
    if (environment.job) { // Slurm ends the processes of the job itself
        if (actor != 0)
            requireNoJob(environment);
        next.end();
        apply({std::move(next)}, Cause::fact(Reason::job()));
        return;
    }
    const Cause cause = Cause::request(actor, environment.uid);
    if (actor == next.uid) {
        next.kernels.clear();
        std::erase_if(next.processes, [](const RootProcess& root) { return !root.lingers; });
        lastProcessWent(next, environment, true);
        if (next.isAlive() && !environment.isRegistered())
            return;
    } else {
        next.end();
    }
    apply({std::move(next)}, cause);
}

void Ledger::concludeEnd(const EnvironmentId& id, std::vector<RootProcess> users,
                         const std::set<DeviceUuid>& used) {
    const Environment* environment = find(id);
    if (environment == nullptr || !environment->pendingEnd)
        return;
    const Cause cause = environment->pendingEnd->byOwner
                            ? Cause::request(environment->uid, environment->uid)
                            : Cause::fact(Reason::processExit());
    Environment next = *environment;
    next.end();
    next.processes = std::move(users);
    for (RootProcess& root : next.processes)
        root.lingers = true;
    std::erase_if(next.attachments, [&](const Attachment& attachment) {
        return !next.processes.empty() && !used.contains(attachment.device.uuid);
    });
    applyFact(std::move(next), cause);
}

std::optional<Environment> Ledger::departedBy(const ProcessIdentity& process, Uid owner,
                                              const EnvironmentId& joined) const {
    const Environment* environment = environmentOfRoot(process);
    if (environment == nullptr || environment->uid != owner || environment->id == joined)
        return std::nullopt;
    Environment next = *environment;
    if (std::erase_if(next.processes, [&](const RootProcess& root) {
            return root.identity == process && root.lingers;
        }) == 0)
        return std::nullopt;
    return next;
}

// A use by the holder's own process must not mark the device as occupied, even if it began in the
// process's previous environment.
void Ledger::markTaken(const Environment& departed, const Environment& taker) {
    const auto isRoot = [&](Pid pid) {
        const auto isIt = [&](const ProcessIdentity& process) { return process.pid == pid; };
        return std::ranges::any_of(taker.processes, isIt, &RootProcess::identity) ||
               std::ranges::any_of(taker.kernels, [&](const Kernel& kernel) {
                   return isIt(kernel.process.identity);
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

void Ledger::settleFound(Environment& found, const Environment& written) const {
    if (found.isRegistered())
        found.pendingEnd.reset();
    else if (written.isRegistered() || written.pendingEnd || found.processes.empty())
        lastProcessWent(found, written, written.pendingEnd && written.pendingEnd->byOwner);
}

} // namespace genv::core
