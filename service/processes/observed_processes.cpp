// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/observed_processes.hpp"

#include "core/base/error.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// Half of the service's descriptors. The others are for the service's clients.
std::size_t maxHeld() {
    constexpr rlim_t share = 2;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / share : 0;
}

// An unreaped zombie is readable, but does not use a GPU any more.
bool hasExited(const std::optional<Pidfd>& held, core::Pid pid) {
    if (held)
        return held->hasExited();
    try {
        return Pidfd::open(pid).hasExited();
    } catch (const core::Error& error) {
        return error.code() == core::ErrorCode::NoSuchProcess;
    }
}

} // namespace

std::vector<core::ObservedProcess> ObservedProcesses::look(const Uses& uses) {
    forgetAllBut(uses);
    forgetExited();
    hold(uses);
    std::vector<ProcRequest> requests;
    for (const core::Pid pid : takeTurns()) {
        requests.push_back({pid, ProcPart::Lineage});
        requests.push_back({pid, ProcPart::Claims});
    }
    ProcBudget budget;
    const std::vector<ProcReading> readings = reader_.read(requests, budget);
    for (std::size_t i = 0; i < requests.size(); i += 2) {
        const auto known = known_.find(requests[i].pid);
        if (!absorb(known->second, readings[i], readings[i + 1]))
            known_.erase(known);
    }
    std::vector<core::ObservedProcess> processes;
    processes.reserve(known_.size());
    for (const auto& [pid, known] : known_) {
        processes.push_back(known.process);
        processes.back().uses = uses.at(pid);
    }
    std::erase_if(known_, [](const auto& entry) { return !entry.second.held; });
    return processes;
}

void ObservedProcesses::forgetAllBut(const Uses& uses) {
    std::erase_if(known_, [&](const auto& entry) { return !uses.contains(entry.first); });
}

void ObservedProcesses::forgetExited() {
    for (const core::Pid pid : exits_.take()) {
        const auto known = known_.find(pid);
        if (known != known_.end() && known->second.held->hasExited())
            known_.erase(known);
    }
}

void ObservedProcesses::hold(const Uses& uses) {
    const std::size_t max = maxHeld();
    for (const auto& [pid, list] : uses) {
        if (known_.contains(pid))
            continue;
        std::optional<Pidfd> held;
        try {
            if (known_.size() < max)
                held = Pidfd::open(pid);
            if (held && !exits_.add(*held))
                held.reset();
        } catch (const core::Error& error) {
            if (error.code() == core::ErrorCode::NoSuchProcess)
                continue;
        }
        Known& known = known_[pid];
        known.held = std::move(held);
        known.process.facts.identity = {pid, ++lastUnread_};
    }
}

std::set<core::Pid> ObservedProcesses::takeTurns() {
    std::set<core::Pid> turns;
    for (const auto& [pid, known] : known_) {
        if (!known.isRead)
            turns.insert(pid);
    }
    const std::size_t max = std::min(known_.size(), turns.size() + maxToRead_);
    auto next = known_.lower_bound(turn_);
    while (turns.size() < max) {
        if (next == known_.end())
            next = known_.begin();
        turns.insert(next->first);
        turn_ = next->first + 1;
        ++next;
    }
    return turns;
}

bool ObservedProcesses::absorb(Known& known, const ProcReading& lineage,
                               const ProcReading& claims) {
    if (std::holds_alternative<ProcGone>(lineage) || std::holds_alternative<ProcGone>(claims))
        return false;
    if (const auto* read = std::get_if<core::Lineage>(&lineage)) {
        known.process.facts = read->facts;
        known.process.ancestors = read->ancestors;
        return absorbClaims(known, claims) &&
               !hasExited(known.held, known.process.facts.identity.pid);
    }
    const bool hangs = std::holds_alternative<ProcHung>(lineage);
    return (known.isRead && !hangs) || standIn(known, !hangs);
}

// Returns false if the claims belong to another process.
bool ObservedProcesses::absorbClaims(Known& known, const ProcReading& claims) {
    core::ObservedProcess& process = known.process;
    const auto* read = std::get_if<ProcClaims>(&claims);
    if (read != nullptr)
        known.lastClaims = *read;
    const bool areCurrent =
        known.lastClaims && known.lastClaims->identity == process.facts.identity;
    if (read != nullptr && !areCurrent)
        return false;
    const ProcClaims stands = areCurrent ? *known.lastClaims : ProcClaims{};
    process.environmentHint = stands.environmentHint;
    process.userNamespaceOwner = stands.userNamespaceOwner;
    process.slurm = stands.slurm;
    // The process may run another program by now.
    process.isMpsServer = read != nullptr && stands.isMpsServer;
    process.isUnread = !areCurrent && !std::holds_alternative<ProcHung>(claims);
    known.isRead = !process.isUnread;
    return true;
}

// Returns false if the process has exited or no descriptor was free to hold it.
bool ObservedProcesses::standIn(Known& known, bool isUnread) {
    const auto info = known.held ? known.held->infoOrOwner() : std::nullopt;
    if (!info || known.held->hasExited())
        return false;
    const core::ProcessIdentity identity = known.process.facts.identity;
    known.process = {};
    known.process.facts = {identity, info->uids, info->parent};
    known.process.isUnread = isUnread;
    known.isRead = false;
    return true;
}

} // namespace genv::service
