// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/observed_processes.hpp"

#include "core/error.hpp"
#include "service/proc_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// The longest id there can be; a longer claim is no id.
constexpr std::size_t mostOfHint = 64;

// Of the descriptors that the service may have, for pins; the others are for those who call it.
std::size_t mostPins() {
    constexpr rlim_t share = 4;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / share : 0;
}

} // namespace

std::vector<core::ComputeProcess> ObservedProcesses::look(Uses uses) {
    forgetAllBut(uses);
    const bool areMany = uses.size() > mostToRead_;
    if (!areMany)
        known_.clear();
    const std::set<core::Pid> turns = takeTurns();
    std::vector<core::ComputeProcess> processes;
    processes.reserve(uses.size());
    for (auto& [pid, list] : uses) {
        const auto known = known_.find(pid);
        if (known != known_.end() && !turns.contains(pid)) {
            processes.push_back(known->second.process);
        } else if (auto seen = read(pid)) {
            processes.push_back(seen->process);
            if (areMany)
                keep(*std::move(seen));
        } else {
            known_.erase(pid);
            continue;
        }
        processes.back().uses = std::move(list);
    }
    std::erase_if(pins_, [](const auto& entry) { return entry.second.use_count() == 1; });
    return processes;
}

void ObservedProcesses::forgetAllBut(const Uses& uses) {
    std::set<const core::ProcessPin*> exited;
    for (const auto& [pid, pin] : pins_) {
        if (pin->hasExited())
            exited.insert(pin.get());
    }
    std::erase_if(known_, [&](const auto& entry) {
        const Pins& pins = entry.second.pins;
        return !uses.contains(entry.first) ||
               (!exited.empty() && std::any_of(pins.begin(), pins.end(), [&](const auto& pin) {
                   return exited.contains(pin.get());
               }));
    });
    std::erase_if(pins_, [&](const auto& entry) { return exited.contains(entry.second.get()); });
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

std::optional<ObservedProcesses::Known> ObservedProcesses::read(core::Pid pid) {
    try {
        const auto held = heldPin(pid);
        const auto pin = held ? held : table_.pin(pid);
        const auto facts = held ? held->now() : pin->facts();
        if (!facts)
            return std::nullopt;
        core::ComputeProcess process;
        process.facts = *facts;
        process.ancestors = readAncestors(*facts);
        process.environmentHint = readEnvironmentVariable(pid, "GENV_ENVIRONMENT_ID", mostOfHint);
        process.userNamespaceOwner = readUserNamespaceOwner(pid);
        process.isMpsServer = isMpsServer(pid);
        // Still alive after reading, so that what was read is of the pinned process.
        if (pin->hasExited())
            return std::nullopt;
        return Known{std::move(process), {pin}};
    } catch (const core::Error&) {
        return std::nullopt;
    }
}

void ObservedProcesses::keep(Known seen) {
    const core::Pid pid = seen.process.facts.identity.pid;
    known_.erase(pid);
    if (pins_.size() + seen.process.ancestors.size() + 1 > mostPins())
        return;
    try {
        for (const core::ProcessIdentity& ancestor : seen.process.ancestors) {
            const auto held = heldPin(ancestor.pid);
            seen.pins.push_back(held ? held : table_.pin(ancestor.pid));
            if (seen.pins.back()->facts().identity != ancestor)
                return;
        }
        for (const auto& pin : seen.pins)
            pins_.insert_or_assign(pin->facts().identity.pid, pin);
        known_.emplace(pid, std::move(seen));
    } catch (const core::Error&) { // an ancestor is gone: it is read again the next time
    }
}

std::shared_ptr<const core::ProcessPin> ObservedProcesses::heldPin(core::Pid pid) const {
    const auto found = pins_.find(pid);
    return found != pins_.end() && !found->second->hasExited() ? found->second : nullptr;
}

} // namespace genv::service
