// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/root_process.hpp"

#include "core/error.hpp"

namespace genv::core {

RootProcess adopt(const PinnedProcess& process, Uid owner, Uid actor) {
    const auto& [pin, facts] = process;
    const Pid pid = pin->identity().pid;
    if (pid <= 1)
        fail(ErrorCode::InvalidArgs, "process {} cannot keep an environment alive", pid);
    if (pin->hasExited())
        fail(ErrorCode::NoSuchProcess, "process {} has exited", pid);
    // It was read behind the pin, and what it has become since is compared.
    if (actor != 0 && !(facts.uids.areAll(owner) && pin->hasUids(facts.uids)))
        fail(ErrorCode::AccessDenied,
             "process {} does not belong to the environment's owner with all its uids", pid);
    return {pin->identity(), pin};
}

std::shared_ptr<const ProcessHandle> holdParent(Processes& processes,
                                                const PinnedProcess& process) {
    if (process.facts.parent <= 1)
        return nullptr;
    try {
        return processes.hold(process.facts.parent);
    } catch (const Error&) {
        return nullptr;
    }
}

} // namespace genv::core
