// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/observed_processes.hpp"

#include "core/error.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// Half of the descriptors that the service may have; the others are for those who call it.
std::size_t mostPins() {
    constexpr rlim_t share = 2;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / share : 0;
}

// An unreaped zombie can be read, and uses nothing any more.
bool hasExited(core::Pid pid) {
    try {
        return Pidfd::open(pid).hasExited();
    } catch (const core::Error& error) {
        return error.code() == core::ErrorCode::NoSuchProcess;
    }
}

void take(core::ComputeProcess& process, const ProcClaims& claims) {
    process.environmentHint = claims.environmentHint;
    process.userNamespaceOwner = claims.userNamespaceOwner;
    process.isMpsServer = claims.isMpsServer;
}

} // namespace

// One look: what is to be read of which process, and what came of it.
class ObservedProcesses::Round {
  public:
    Round(ObservedProcesses& observed, const Uses& uses)
        : observed_(observed), areMany_(uses.size() > observed.mostToRead_) {
        if (!areMany_)
            observed_.known_.clear();
        const std::set<core::Pid> turns = observed_.takeTurns();
        for (const auto& [pid, list] : uses) {
            const bool isKnown = observed_.known_.contains(pid);
            if (isKnown && !turns.contains(pid))
                continue;
            requests_.push_back({pid, isKnown ? ProcPart::Facts : ProcPart::Lineage});
            requests_.push_back({pid, ProcPart::Claims});
            if (areMany_ && !isKnown)
                hold(pid);
        }
    }

    void carryOut() {
        const std::vector<ProcReading> readings = observed_.reader_.read(requests_, budget_);
        for (std::size_t i = 0; i < requests_.size(); i += 2)
            absorb(requests_[i].pid, readings[i], readings[i + 1]);
        if (!areMany_)
            return;
        observed_.pinAncestors(fresh_, budget_);
        for (Known& known : std::exchange(fresh_, {}))
            observed_.keep(std::move(known));
    }

    // What was read of a process, or is known of it; null for nothing.
    [[nodiscard]] const core::ComputeProcess* find(core::Pid pid) const {
        if (const auto found = read_.find(pid); found != read_.end())
            return &found->second;
        const auto known = observed_.known_.find(pid);
        return known != observed_.known_.end() ? &known->second.process : nullptr;
    }

  private:
    // Before it is read, so that what is read is of the process that is held. Half of the room is
    // for their ancestors.
    void hold(core::Pid pid) {
        if (!observed_.mayHold(2 * (held_.size() + 1)))
            return;
        try {
            held_.emplace(pid, Pidfd::open(pid));
        } catch (const core::Error&) { // it is gone, or there is no descriptor left
        }
    }

    void absorb(core::Pid pid, const ProcReading& facts, const ProcReading& claims) {
        const auto known = observed_.known_.find(pid);
        if (const auto* read = std::get_if<core::ProcessFacts>(&facts);
            read != nullptr && known != observed_.known_.end()) {
            core::ComputeProcess process = std::move(known->second.process);
            process.facts = *read;
            // Its ancestors are the same while they and it live.
            if (takeClaims(process, claims))
                known->second.process = std::move(process);
            else
                observed_.known_.erase(known);
        } else if (const auto* lineage = std::get_if<core::Lineage>(&facts)) {
            core::ComputeProcess process;
            process.facts = lineage->facts;
            process.ancestors = lineage->ancestors;
            if (takeClaims(process, claims))
                isRead(std::move(process));
        } else if (std::holds_alternative<ProcGone>(facts)) {
            observed_.known_.erase(pid);
        } else if (const bool hangs = std::holds_alternative<ProcHung>(facts);
                   hangs || known == observed_.known_.end()) {
            observed_.known_.erase(pid);
            if (auto process = observed_.standIn(pid)) {
                process->isUnread = !hangs;
                read_.insert_or_assign(pid, *std::move(process));
            }
        }
    }

    // False when they are of another process.
    bool takeClaims(core::ComputeProcess& process, const ProcReading& reading) {
        const core::ProcessIdentity& identity = process.facts.identity;
        process.isUnread = false;
        if (std::holds_alternative<ProcGone>(reading))
            return false;
        if (const auto* claims = std::get_if<ProcClaims>(&reading)) {
            take(process, *claims);
            observed_.said_.insert_or_assign(identity.pid, *claims);
            return claims->identity == identity;
        }
        const auto said = observed_.said_.find(identity.pid);
        ProcClaims stands;
        if (said != observed_.said_.end() && said->second.identity == identity)
            stands = said->second;
        else
            process.isUnread = !std::holds_alternative<ProcHung>(reading);
        stands.isMpsServer = false; // what it runs may be another program by now
        take(process, stands);
        return true;
    }

    void isRead(core::ComputeProcess process) {
        const core::Pid pid = process.facts.identity.pid;
        if (hasExited(pid))
            return;
        // From now on it has one identity, also while it cannot be read again.
        const auto before = observed_.unread_.find(pid);
        if (before != observed_.unread_.end() && !before->second.process.hasExited())
            before->second.identity = process.facts.identity;
        const auto held = held_.find(pid);
        if (held != held_.end() && !process.isUnread && !held->second.hasExited()) {
            if (auto pin = observed_.pin(std::move(held->second), process.facts.identity))
                fresh_.push_back({process, {std::move(pin)}});
        }
        read_.insert_or_assign(pid, std::move(process));
    }

    ObservedProcesses& observed_;
    const bool areMany_;
    ProcBudget budget_;
    std::vector<ProcRequest> requests_; ///< two for each process
    std::map<core::Pid, Pidfd> held_;
    std::map<core::Pid, core::ComputeProcess> read_;
    std::vector<Known> fresh_; ///< to be kept
};

std::vector<core::ComputeProcess> ObservedProcesses::look(const Uses& uses) {
    forgetAllBut(uses);
    Round round(*this, uses);
    round.carryOut();
    std::vector<core::ComputeProcess> processes;
    processes.reserve(uses.size());
    for (const auto& [pid, list] : uses) {
        const core::ComputeProcess* process = round.find(pid);
        if (process == nullptr)
            continue;
        processes.push_back(*process);
        processes.back().uses = list;
    }
    std::erase_if(pins_, [](const auto& entry) { return entry.second.use_count() == 1; });
    return processes;
}

void ObservedProcesses::forgetAllBut(const Uses& uses) {
    std::set<core::ProcessIdentity> exited;
    for (pollfd exits{pinSet_.descriptor(), POLLIN, 0}; ::poll(&exits, 1, 0) > 0;)
        pinSet_.dispatch([&](const core::ProcessIdentity& process) { exited.insert(process); });
    const auto hasExited = [&](const std::shared_ptr<const core::ProcessPin>& pin) {
        return exited.contains(pin->identity());
    };
    std::erase_if(known_, [&](const auto& entry) {
        const Pins& pins = entry.second.pins;
        return !uses.contains(entry.first) ||
               (!exited.empty() && std::any_of(pins.begin(), pins.end(), hasExited));
    });
    std::erase_if(pins_, [&](const auto& entry) { return hasExited(entry.second); });
    std::erase_if(unread_, [&](const auto& entry) {
        return !uses.contains(entry.first) || entry.second.process.hasExited();
    });
    std::erase_if(said_, [&](const auto& entry) { return !uses.contains(entry.first); });
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

bool ObservedProcesses::mayHold(std::size_t more) const {
    return pins_.size() + unread_.size() + more <= mostPins();
}

std::optional<core::ComputeProcess> ObservedProcesses::standIn(core::Pid pid) {
    try {
        auto found = unread_.find(pid);
        if (found == unread_.end()) {
            if (!mayHold(1))
                return std::nullopt;
            Pidfd held = Pidfd::open(pid);
            found = unread_.emplace(pid, Unread{std::move(held), {pid, ++lastUnread_}}).first;
        }
        const auto info = found->second.process.infoOrOwner();
        if (!info || found->second.process.hasExited())
            return std::nullopt;
        core::ComputeProcess process;
        process.facts = {found->second.identity, info->uids, info->parent};
        return process;
    } catch (const core::Error&) { // it is gone, or there is no descriptor left
        return std::nullopt;
    }
}

void ObservedProcesses::pinAncestors(const std::vector<Known>& fresh, ProcBudget& budget) {
    std::map<core::Pid, Pidfd> held;
    std::vector<ProcRequest> requests;
    for (const Known& known : fresh) {
        for (const core::ProcessIdentity& ancestor : known.process.ancestors) {
            if (held.contains(ancestor.pid) || heldPin(ancestor.pid) != nullptr ||
                !mayHold(fresh.size() + held.size() + 1))
                continue;
            try {
                held.emplace(ancestor.pid, Pidfd::open(ancestor.pid));
                requests.push_back({ancestor.pid, ProcPart::Facts});
            } catch (const core::Error&) { // it is gone: who descends from it is read again
            }
        }
    }
    const std::vector<ProcReading> readings = reader_.read(requests, budget);
    for (const ProcReading& reading : readings) {
        const auto* facts = std::get_if<core::ProcessFacts>(&reading);
        if (facts == nullptr)
            continue;
        Pidfd& ancestor = held.at(facts->identity.pid);
        if (ancestor.hasExited())
            continue;
        if (auto ancestorPin = pin(std::move(ancestor), facts->identity))
            pins_.insert_or_assign(facts->identity.pid, std::move(ancestorPin));
    }
}

std::shared_ptr<const core::ProcessPin> ObservedProcesses::pin(Pidfd process,
                                                               core::ProcessIdentity identity) {
    try {
        return pinSet_.add(std::move(process), identity);
    } catch (const core::Error&) { // there is no room: it is read again the next time
        return nullptr;
    }
}

void ObservedProcesses::keep(Known fresh) {
    const core::Pid pid = fresh.process.facts.identity.pid;
    for (const core::ProcessIdentity& ancestor : fresh.process.ancestors) {
        const auto pin = heldPin(ancestor.pid);
        if (pin == nullptr || pin->identity() != ancestor)
            return;
        fresh.pins.push_back(pin);
    }
    pins_.insert_or_assign(pid, fresh.pins.front());
    known_.insert_or_assign(pid, std::move(fresh));
}

std::shared_ptr<const core::ProcessPin> ObservedProcesses::heldPin(core::Pid pid) const {
    const auto found = pins_.find(pid);
    return found != pins_.end() && !found->second->hasExited() ? found->second : nullptr;
}

} // namespace genv::service
