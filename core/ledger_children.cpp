// SPDX-License-Identifier: LGPL-2.1-or-later
// Child environments: a child holds some of its parent's devices. Children cannot have children.
#include "core/error.hpp"
#include "core/ledger.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// Returns whether an environment can have children: it has a process or a job, or its end is
// pending.
bool hasRoom(const Environment& parent) {
    return parent.isAlive() && !parent.isLingering();
}

bool isLost(const Attachment& attachment, const Environment& parent) {
    return parent.attachmentTo(attachment.device.uuid) == nullptr;
}

bool mustFollow(const Environment& child, const Environment& parent) {
    return !hasRoom(parent) || std::ranges::any_of(child.attachments, [&](const Attachment& each) {
        return isLost(each, parent);
    });
}

void followParent(Environment& child, const Environment& parent) {
    std::erase_if(child.attachments, [&](const Attachment& each) { return isLost(each, parent); });
    if (!hasRoom(parent))
        child.end();
}

} // namespace

void requireMayHaveChildren(const Environment& environment) {
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

std::vector<const Environment*> Ledger::childrenOf(const EnvironmentId& id) const {
    std::vector<const Environment*> children;
    if (const auto found = children_.find(id); found != children_.end()) {
        for (const std::uint64_t sequence : found->second)
            children.push_back(&environments_.at(sequence));
    }
    return children;
}

bool Ledger::isOfJob(const Environment& environment) const {
    const Environment* parent = parentOf(environment);
    return environment.job || (parent != nullptr && parent->job);
}

// Returns the changed children when environments change; children that are in `nexts` are changed
// there.
std::vector<Environment> Ledger::childrenAfter(std::vector<Environment>& nexts) const {
    std::vector<Environment> children;
    for (const Environment& parent : nexts) {
        for (const Environment* child : childrenOf(parent.id)) {
            const auto find = [&](std::vector<Environment>& among) {
                return std::ranges::find(among, child->sequence, &Environment::sequence);
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
Cause Ledger::causeFor(const Environment& child, const Cause& cause) {
    return cause.reason == Reason::user() ? Cause::request(cause.actor, child.uid) : cause;
}

void Ledger::indexChild(const Environment& environment, bool present) {
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
const Environment* Ledger::holderFor(const Environment* environment,
                                     const DeviceUuid& device) const {
    while (environment != nullptr && environment->attachmentTo(device) == nullptr)
        environment = parentOf(*environment);
    return environment;
}

} // namespace genv::core
