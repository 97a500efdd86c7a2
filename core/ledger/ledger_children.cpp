// SPDX-License-Identifier: LGPL-2.1-or-later
// Child environments: a child holds some of its parent's devices. Children cannot have children.
#include "core/base/error.hpp"
#include "core/ledger/ledger.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// Returns whether an environment can have children: it has a process or a job, or its end is
// pending.
bool hasRoom(const EnvironmentRecord& parent) {
    return parent.isAlive() && !parent.isLingering();
}

bool isLost(const DeviceAttachment& attachment, const EnvironmentRecord& parent) {
    return parent.attachmentTo(attachment.device.uuid) == nullptr;
}

bool mustFollow(const EnvironmentRecord& child, const EnvironmentRecord& parent) {
    return !hasRoom(parent) ||
           std::ranges::any_of(child.attachments,
                               [&](const DeviceAttachment& each) { return isLost(each, parent); });
}

void followParent(EnvironmentRecord& child, const EnvironmentRecord& parent) {
    std::erase_if(child.attachments,
                  [&](const DeviceAttachment& each) { return isLost(each, parent); });
    if (!hasRoom(parent))
        child.end();
}

} // namespace

void requireMayHaveChildren(const EnvironmentRecord& environment) {
    if (environment.parent)
        fail(ErrorCode::InvalidArgs,
             "environment {} is within environment {} itself, and has no room for another one: "
             "environments are one level deep; start it within environment {}",
             environment.id, *environment.parent, *environment.parent);
    if (!environment.isRegistered())
        fail(ErrorCode::NoSuchProcess,
             "environment {} has no process any more and only keeps the GPUs that are still in "
             "use, so nothing starts within it; activate it again first",
             environment.id);
}

// Returns the changed children when environments change; children that are in `nexts` are changed
// there.
std::vector<EnvironmentRecord> Ledger::childrenAfter(std::vector<EnvironmentRecord>& nexts) const {
    std::vector<EnvironmentRecord> children;
    for (const EnvironmentRecord& parent : nexts) {
        for (const EnvironmentRecord* child : childrenOf(parent.id)) {
            const auto find = [&](std::vector<EnvironmentRecord>& among) {
                return std::ranges::find(among, child->sequence, &EnvironmentRecord::sequence);
            };
            auto next = find(nexts);
            const bool isKnown = next != nexts.end() || (next = find(children)) != children.end();
            if (!mustFollow(isKnown ? *next : *child, parent))
                continue;
            if (!isKnown)
                next = children.insert(children.end(), *child);
            followParent(*next, parent);
        }
    }
    return children;
}

// For the owner of a child, a change by the parent's owner is a change by somebody else.
Cause Ledger::causeFor(const EnvironmentRecord& child, const Cause& cause) {
    return cause.reason == Reason::user() ? Cause::request(cause.actor, child.uid) : cause;
}

void Ledger::indexChild(const EnvironmentRecord& environment, bool present) {
    if (!environment.parent)
        return;
    std::set<std::uint64_t>& siblings = children_[*environment.parent];
    if (present)
        siblings.insert(environment.sequence);
    else
        siblings.erase(environment.sequence);
    if (siblings.empty())
        children_.erase(*environment.parent);
}

// Returns the environment of a process if it holds the device, otherwise its parent: if a process
// of a child uses a device that the child does not hold, the use counts for the parent.
const EnvironmentRecord* Ledger::holderFor(const EnvironmentRecord* environment,
                                           const DeviceUuid& device) const {
    while (environment != nullptr && environment->attachmentTo(device) == nullptr)
        environment = parentOf(*environment);
    return environment;
}

} // namespace genv::core
