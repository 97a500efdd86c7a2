// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environments/root_process.hpp"

#include "core/base/error.hpp"

namespace genv::core {

RootProcess adopt(const PinnedProcess& process, Uid owner, Uid actor) {
    const auto& [pin, facts] = process;
    const Pid pid = pin->identity().pid;
    if (pid <= 1)
        fail(ErrorCode::InvalidArgs, "process {} cannot keep an environment alive", pid);
    if (facts.isKernelThread)
        fail(ErrorCode::InvalidArgs,
             "process {} is a kernel thread, which cannot keep an environment alive", pid);
    if (pin->hasExited())
        fail(ErrorCode::NoSuchProcess, "process {} has exited", pid);
    // The process was read while it was pinned; its current uids are compared with that.
    if (actor != 0 && !(facts.uids.areAll(owner) && pin->hasUids(facts.uids)))
        fail(ErrorCode::AccessDenied,
             "process {} does not belong to the environment's owner with all its uids", pid);
    return {pin->identity(), pin};
}

JupyterKernelStarter holdStarter(Processes& processes, const PinnedProcess& jupyterKernel) {
    const Pid parent = jupyterKernel.facts.parent;
    if (parent <= 1)
        return {};
    try {
        return {parent, processes.hold(parent)};
    } catch (const Error&) {
        return {};
    }
}

} // namespace genv::core
