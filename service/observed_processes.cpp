// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/observed_processes.hpp"

#include "core/error.hpp"
#include "service/proc_files.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// The longest id there can be; a longer claim is no id.
constexpr std::size_t mostOfHint = 64;

// Half of the descriptors that the service may have; the others are for those who call it.
std::size_t mostPins() {
    constexpr rlim_t share = 2;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / share : 0;
}

// What a process says of itself, and where; false when it is gone. Looked at last, so that what was
// read is of the pinned process.
bool readClaims(core::ComputeProcess& process, const core::ProcessPin& pin) {
    const core::Pid pid = pin.identity().pid;
    process.environmentHint = readEnvironmentVariable(pid, "GENV_ENVIRONMENT_ID", mostOfHint);
    process.userNamespaceOwner = readUserNamespaceOwner(pid);
    process.isMpsServer = isMpsServer(pid);
    return !pin.hasExited();
}

} // namespace

std::vector<core::ComputeProcess> ObservedProcesses::look(const Uses& uses) {
    forgetAllBut(uses);
    const bool areMany = uses.size() > mostToRead_;
    if (!areMany)
        known_.clear();
    const std::set<core::Pid> turns = takeTurns();
    std::vector<core::ComputeProcess> processes;
    processes.reserve(uses.size());
    for (const auto& [pid, list] : uses) {
        const core::ComputeProcess* process = known(pid, turns.contains(pid));
        std::optional<Known> seen;
        if (process == nullptr && (seen = read(pid)))
            process = &seen->process;
        if (process == nullptr)
            continue;
        processes.push_back(*process);
        processes.back().uses = list;
        if (seen && areMany)
            keep(*std::move(seen));
    }
    std::erase_if(pins_, [](const auto& entry) { return entry.second.use_count() == 1; });
    return processes;
}

void ObservedProcesses::forgetAllBut(const Uses& uses) {
    std::set<core::ProcessIdentity> exited;
    table_.onExit([&](const core::ProcessIdentity& process) { exited.insert(process); });
    for (pollfd exits{table_.descriptor(), POLLIN, 0}; ::poll(&exits, 1, 0) > 0;)
        table_.dispatch();
    table_.onExit(nullptr);
    const auto hasExited = [&](const std::shared_ptr<const core::ProcessPin>& pin) {
        return exited.contains(pin->identity());
    };
    std::erase_if(known_, [&](const auto& entry) {
        const Pins& pins = entry.second.pins;
        return !uses.contains(entry.first) ||
               (!exited.empty() && std::any_of(pins.begin(), pins.end(), hasExited));
    });
    std::erase_if(pins_, [&](const auto& entry) { return hasExited(entry.second); });
}

std::set<core::Pid> ObservedProcesses::takeTurns() {
    std::set<core::Pid> turns;
    auto next = known_.lower_bound(turn_);
    while (turns.size() < std::min(mostToRead_, known_.size())) {
        if (next == known_.end())
            next = known_.begin();
        turns.insert(next->first);
        turn_ = next->first + 1;
        ++next;
    }
    return turns;
}

const core::ComputeProcess* ObservedProcesses::known(core::Pid pid, bool isItsTurn) {
    const auto found = known_.find(pid);
    if (found == known_.end())
        return nullptr;
    auto& [process, pins] = found->second;
    // Its ancestors are the same while they and it live.
    const auto facts = isItsTurn ? pins.front()->now() : process.facts;
    if (!facts || (isItsTurn && !readClaims(process, *pins.front()))) {
        known_.erase(found);
        return nullptr;
    }
    process.facts = *facts;
    return &process;
}

std::optional<ObservedProcesses::Known> ObservedProcesses::read(core::Pid pid) {
    try {
        const auto held = heldPin(pid); // as somebody's ancestor
        const auto pin = held ? held : table_.pin(pid);
        const auto facts = pin->now();
        if (!facts)
            return std::nullopt;
        Known seen{{}, {pin}};
        seen.process.facts = *facts;
        seen.process.ancestors = readAncestors(*facts);
        if (!readClaims(seen.process, *pin))
            return std::nullopt;
        return seen;
    } catch (const core::Error&) {
        return std::nullopt;
    }
}

void ObservedProcesses::keep(Known seen) {
    if (pins_.size() + seen.process.ancestors.size() + 1 > mostPins())
        return;
    try {
        for (const core::ProcessIdentity& ancestor : seen.process.ancestors) {
            const auto held = heldPin(ancestor.pid);
            seen.pins.push_back(held ? held : table_.pin(ancestor.pid));
            if (seen.pins.back()->identity() != ancestor)
                return;
        }
        for (const auto& pin : seen.pins)
            pins_.insert_or_assign(pin->identity().pid, pin);
        const core::Pid pid = seen.process.facts.identity.pid;
        known_.emplace(pid, std::move(seen));
    } catch (const core::Error&) { // an ancestor is gone: it is read again the next time
    }
}

std::shared_ptr<const core::ProcessPin> ObservedProcesses::heldPin(core::Pid pid) const {
    const auto found = pins_.find(pid);
    return found != pins_.end() && !found->second->hasExited() ? found->second : nullptr;
}

} // namespace genv::service
