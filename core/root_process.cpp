// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/root_process.hpp"

#include "core/error.hpp"

#include <utility>

namespace genv::core {

RootProcess adopt(std::shared_ptr<const ProcessPin> pin, Uid owner, Uid actor) {
    const Pid pid = pin->identity().pid;
    if (pid <= 1)
        fail(ErrorCode::InvalidArgs, "process {} cannot keep an environment alive", pid);
    // Read behind the pin, so that it is of this process, and of what it has become.
    const std::optional<ProcessFacts> now = pin->now();
    if (!now || pin->hasExited())
        fail(ErrorCode::NoSuchProcess, "process {} has exited", pid);
    if (actor != 0 && !now->uids.areAll(owner))
        fail(ErrorCode::AccessDenied,
             "process {} does not belong to the environment's owner with all its uids", pid);
    return {now->identity, std::move(pin)};
}

std::shared_ptr<const ProcessPin> pinParent(Processes& processes, const ProcessIdentity& process) {
    const std::optional<ProcessFacts> facts = processes.look(process.pid);
    if (!facts || facts->identity != process || facts->parent <= 1)
        return nullptr;
    try {
        return processes.pin(facts->parent);
    } catch (const Error&) {
        return nullptr;
    }
}

} // namespace genv::core
