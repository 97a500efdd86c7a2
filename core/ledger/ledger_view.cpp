// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/ledger_view.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::core {

const EnvironmentRecord* LedgerView::find(const EnvironmentId& id) const {
    const auto known = byId_.find(id);
    return known == byId_.end() ? nullptr : known->second;
}

const EnvironmentRecord& LedgerView::get(const EnvironmentId& id) const {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr)
        fail(ErrorCode::NoSuchEnvironment, "there is no environment \"{}\"", escaped(id));
    return *environment;
}

const EnvironmentRecord* LedgerView::findJob(const SlurmJobName& name) const {
    const EnvironmentRecord* environment = nullptr;
    if (const auto* number = std::get_if<SlurmJobId>(&name))
        environment = find(environmentIdOf(*number));
    else if (const auto found = sluids_.find(std::get<Sluid>(name)); found != sluids_.end())
        environment = find(found->second);
    return environment != nullptr && environment->job ? environment : nullptr;
}

std::vector<EnvironmentId> LedgerView::holdersOf(const DeviceUuid& uuid) const {
    const auto holders = holders_.find(uuid);
    if (holders == holders_.end())
        return {};
    return {holders->second.begin(), holders->second.end()};
}

bool LedgerView::isHeldBy(const DeviceUuid& uuid, Uid user) const {
    const auto holders = holders_.find(uuid);
    return holders != holders_.end() &&
           std::ranges::any_of(holders->second, [&](const EnvironmentId& holder) {
               return get(holder).uid == user;
           });
}

const TableDevice& LedgerView::device(DeviceIndex index) const {
    const TableDevice* device = devices_.find(index);
    if (device == nullptr)
        fail(ErrorCode::NoSuchDevice, "there is no device {} on this machine", index);
    return *device;
}

const EnvironmentRecord* LedgerView::environmentOfRoot(const ProcessIdentity& process) const {
    const auto found = roots_.find(process);
    return found == roots_.end() ? nullptr : find(found->second);
}

const EnvironmentRecord* LedgerView::environmentOfFormer(const ProcessIdentity& process) const {
    const auto found = formers_.find(process);
    return found == formers_.end() ? nullptr : find(found->second);
}

const EnvironmentRecord* LedgerView::environmentOfParked(const ProcessIdentity& process) const {
    const auto found = parked_.find(process);
    return found == parked_.end() ? nullptr : find(found->second);
}

bool LedgerView::isParked(const ProcessIdentity& process, BootTime observed) const {
    const EnvironmentRecord* environment = environmentOfParked(process);
    if (environment == nullptr)
        return false;
    const bool isDetached =
        environment->isAt(ParkingStep::Parked) || environment->isAt(ParkingStep::Ending);
    return !isDetached || observed <= environment->parking->began;
}

std::optional<EnvironmentRecord> LedgerView::departedBy(const ProcessIdentity& process, Uid owner,
                                                        const EnvironmentId& joined) const {
    const EnvironmentRecord* environment = environmentOfRoot(process);
    if (environment == nullptr || environment->uid != owner || environment->id == joined)
        return std::nullopt;
    EnvironmentRecord next = *environment;
    if (std::erase_if(next.processes, [&](const RootProcess& root) {
            return root.identity == process && root.lingers;
        }) == 0)
        return std::nullopt;
    return next;
}

std::vector<const EnvironmentRecord*> LedgerView::childrenOf(const EnvironmentId& id) const {
    std::vector<const EnvironmentRecord*> children;
    if (const auto found = children_.find(id); found != children_.end()) {
        for (const std::uint64_t sequence : found->second)
            children.push_back(&environments_.at(sequence));
    }
    return children;
}

bool LedgerView::isOfJob(const EnvironmentRecord& environment) const {
    const EnvironmentRecord* parent = parentOf(environment);
    return environment.job || (parent != nullptr && parent->job);
}

std::vector<const EnvironmentRecord*> LedgerView::environmentsOf(Uid uid) const {
    std::vector<const EnvironmentRecord*> environments;
    if (const auto user = users_.find(uid); user != users_.end()) {
        environments.reserve(user->second.environments.size());
        for (const std::uint64_t sequence : user->second.environments)
            environments.push_back(&environments_.at(sequence));
    }
    return environments;
}

const Wait& LedgerView::wait(std::uint64_t ticket) const {
    const auto& waits = get(waits_.at(ticket)).waits;
    return *std::find_if(waits.begin(), waits.end(),
                         [&](const Wait& wait) { return wait.ticket == ticket; });
}

EnvironmentId LedgerView::freeId(Pid pid) const {
    EnvironmentId id = std::to_string(pid);
    for (int suffix = 2; find(id) != nullptr; ++suffix)
        id = fmt::format("{}-{}", pid, suffix);
    return id;
}

} // namespace genv::core
