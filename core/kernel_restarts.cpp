// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/kernel_restarts.hpp"

#include "core/error.hpp"
#include "core/root_process.hpp"

#include <algorithm>

namespace genv::core {

namespace {

const Kernel* kernelOf(const Environment* environment, const ProcessIdentity& process) {
    if (environment == nullptr)
        return nullptr;
    const auto found =
        std::find_if(environment->kernels.begin(), environment->kernels.end(),
                     [&](const Kernel& kernel) { return kernel.process.identity == process; });
    return found == environment->kernels.end() ? nullptr : &*found;
}

bool hasExited(const KernelStarter& starter) {
    return starter.process && starter.process->hasExited();
}

} // namespace

void KernelRestarts::processExited(const ProcessIdentity& process) {
    giveUpOnThoseOf(process);
    const Environment* environment = ledger_.environmentOfRoot(process);
    const Kernel* kernel = kernelOf(environment, process);
    // A kernel that still waits for its first GPU has no GPU to keep.
    if (kernel == nullptr || environment->isWaitingToStart() || hasExited(kernel->starter)) {
        ledger_.processExited(process);
        return;
    }
    awaited_[process] = {kernel->id,      environment->uid, clock_.bootNow(), kernelRestartTimeout,
                         kernel->starter, nullptr,          nullptr};
    searchLater(process);
    watchStarter(process);
}

// Reading the starter may take a while, so it may have exited by the time it is pinned.
void KernelRestarts::watchStarter(const ProcessIdentity& process) {
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

void KernelRestarts::giveUpOnThoseOf(const ProcessIdentity& starter) {
    std::vector<ProcessIdentity> kernels;
    for (const auto& [process, awaited] : awaited_) {
        if (awaited.starterPin && awaited.starterPin->identity() == starter)
            kernels.push_back(process);
    }
    for (const ProcessIdentity& process : kernels)
        giveUp(process);
}

void KernelRestarts::giveUp(const ProcessIdentity& process) {
    awaited_.erase(process);
    // By now the environment may have another kernel, or the id may belong to another environment.
    if (kernelOf(ledger_.environmentOfRoot(process), process) != nullptr)
        ledger_.processExited(process);
}

void KernelRestarts::searchLater(const ProcessIdentity& process) {
    awaited_.at(process).timer =
        scheduler_.after(kernelSearchInterval, [this, process] { search(process); });
}

void KernelRestarts::search(const ProcessIdentity& process) {
    Awaited& awaited = awaited_.at(process);
    awaited.remaining -= kernelSearchInterval;
    if (awaited.remaining <= std::chrono::seconds{0} || hasExited(awaited.starter) ||
        kernelOf(ledger_.environmentOfRoot(process), process) == nullptr) {
        giveUp(process);
        return;
    }
    kernels_.find(awaited.owner, awaited.owner, awaited.kernel, 0,
                  [this, process, lives = std::weak_ptr(lives_)](const Kernels::Found& candidates) {
                      if (!lives.expired())
                          found(process, candidates);
                  });
    searchLater(process);
}

void KernelRestarts::found(const ProcessIdentity& process, Kernels::Found candidates) {
    const auto awaited = awaited_.find(process);
    if (awaited == awaited_.end())
        return;
    // A tool that was started with the file while the kernel ran, such as an editor, is not the
    // next process of the kernel.
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

void KernelRestarts::pinned(const ProcessIdentity& process, const ProcessIdentity& candidate,
                            const ProcessRead<PinnedProcess>& read) {
    const auto awaited = awaited_.find(process);
    if (awaited == awaited_.end())
        return;
    try {
        const PinnedProcess& next = read.get();
        if (next.pin->identity() != candidate)
            return;
        const Uid owner = awaited->second.owner;
        ledger_.kernelRestarted(process, adopt(next, owner, owner), holdStarter(processes_, next));
        awaited_.erase(awaited);
    } catch (const Error&) {
        // It has exited, or belongs to another user by now; another candidate may appear.
    }
}

} // namespace genv::core
