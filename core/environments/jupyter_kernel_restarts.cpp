// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environments/jupyter_kernel_restarts.hpp"

#include "core/base/error.hpp"
#include "core/environments/root_process.hpp"

#include <algorithm>

namespace genv::core {

namespace {

const JupyterKernel* jupyterKernelOf(const EnvironmentRecord* environment,
                                     const ProcessIdentity& process) {
    if (environment == nullptr)
        return nullptr;
    const auto found =
        std::find_if(environment->jupyterKernels.begin(), environment->jupyterKernels.end(),
                     [&](const JupyterKernel& jupyterKernel) {
                         return jupyterKernel.process.identity == process;
                     });
    return found == environment->jupyterKernels.end() ? nullptr : &*found;
}

bool hasExited(const JupyterKernelStarter& starter) {
    return starter.process && starter.process->hasExited();
}

} // namespace

void JupyterKernelRestarts::processExited(const ProcessIdentity& process) {
    giveUpOnThoseOf(process);
    const EnvironmentRecord* environment = ledger_.environmentOfRoot(process);
    const JupyterKernel* jupyterKernel = jupyterKernelOf(environment, process);
    // A Jupyter kernel that still waits for its first GPU has no GPU to keep.
    if (jupyterKernel == nullptr || environment->isWaitingToStart() ||
        hasExited(jupyterKernel->starter)) {
        ledger_.processExited(process);
        return;
    }
    awaited_[process] = {
        jupyterKernel->id,      environment->uid, clock_.bootNow(), jupyterKernelRestartTimeout,
        jupyterKernel->starter, nullptr,          nullptr};
    searchLater(process);
    watchStarter(process);
}

// Reading the starter may take a while, so it may have exited by the time it is pinned.
void JupyterKernelRestarts::watchStarter(const ProcessIdentity& process) {
    const Awaited& awaited = awaited_.at(process);
    if (!awaited.starter.process)
        return;
    const auto pinned = [this, process,
                         lives = std::weak_ptr(lives_)](const ProcessRead<PinnedProcess>& read) {
        if (lives.expired())
            return;
        const auto found = awaited_.find(process);
        if (found == awaited_.end())
            return;
        if (hasExited(found->second.starter)) {
            giveUp(process);
            return;
        }
        try {
            found->second.starterPin = read.get().pin; // pinned from the held process, which lives
        } catch (const Error&) {
            // Each search checks the starter anyway.
        }
    };
    try {
        processes_.pin(awaited.starter.pid, awaited.owner, pinned);
    } catch (const Error&) {
        if (hasExited(awaited.starter))
            giveUp(process);
    }
}

void JupyterKernelRestarts::giveUpOnThoseOf(const ProcessIdentity& starter) {
    std::vector<ProcessIdentity> jupyterKernels;
    for (const auto& [process, awaited] : awaited_) {
        if (awaited.starterPin && awaited.starterPin->identity() == starter)
            jupyterKernels.push_back(process);
    }
    for (const ProcessIdentity& process : jupyterKernels)
        giveUp(process);
}

void JupyterKernelRestarts::giveUp(const ProcessIdentity& process) {
    awaited_.erase(process);
    // By now the environment may have another Jupyter kernel, or the id may belong to another
    // environment.
    if (jupyterKernelOf(ledger_.environmentOfRoot(process), process) != nullptr)
        ledger_.processExited(process);
}

void JupyterKernelRestarts::searchLater(const ProcessIdentity& process) {
    awaited_.at(process).timer =
        scheduler_.after(jupyterKernelSearchInterval, [this, process] { search(process); });
}

void JupyterKernelRestarts::search(const ProcessIdentity& process) {
    Awaited& awaited = awaited_.at(process);
    awaited.remaining -= jupyterKernelSearchInterval;
    if (awaited.remaining <= std::chrono::seconds{0} || hasExited(awaited.starter) ||
        jupyterKernelOf(ledger_.environmentOfRoot(process), process) == nullptr) {
        giveUp(process);
        return;
    }
    jupyterKernels_.find(
        awaited.owner, awaited.owner, awaited.jupyterKernel, 0,
        [this, process, lives = std::weak_ptr(lives_)](const JupyterKernels::Found& candidates) {
            if (!lives.expired())
                found(process, candidates);
        });
    searchLater(process);
}

void JupyterKernelRestarts::found(const ProcessIdentity& process,
                                  JupyterKernels::Found candidates) {
    const auto awaited = awaited_.find(process);
    if (awaited == awaited_.end())
        return;
    // A tool that was started with the file while the Jupyter kernel ran, such as an editor, is not
    // the next process of the Jupyter kernel.
    std::erase_if(candidates, [&](const ProcessIdentity& candidate) {
        return candidate.startedBefore() <= awaited->second.since;
    });
    // Several candidates cannot be told apart; one of them may end soon.
    if (candidates.size() != 1 || ledger_.environmentOfRoot(candidates.front()) != nullptr)
        return;
    const ProcessIdentity candidate = candidates.front();
    try {
        processes_.pin(candidate.pid, awaited->second.owner,
                       [this, process, candidate,
                        lives = std::weak_ptr(lives_)](const ProcessRead<PinnedProcess>& read) {
                           if (!lives.expired())
                               pinned(process, candidate, read);
                       });
    } catch (const Error&) {
        // It has exited; another candidate may appear.
    }
}

void JupyterKernelRestarts::pinned(const ProcessIdentity& process, const ProcessIdentity& candidate,
                                   const ProcessRead<PinnedProcess>& read) {
    const auto awaited = awaited_.find(process);
    if (awaited == awaited_.end())
        return;
    try {
        const PinnedProcess& next = read.get();
        if (next.pin->identity() != candidate)
            return;
        const Uid owner = awaited->second.owner;
        ledger_.jupyterKernelRestarted(process, adopt(next, owner, owner),
                                       holdStarter(processes_, next));
        awaited_.erase(awaited);
    } catch (const Error&) {
        // It has exited, or belongs to another user by now; another candidate may appear.
    }
}

} // namespace genv::core
