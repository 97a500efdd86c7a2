// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/ledger/recovery.hpp"

#include "core/base/error.hpp"
#include "core/ledger/ledger_recovery.hpp"
#include "core/state/state_schema.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

namespace genv::core {

namespace {

std::vector<ParkedProcess> parkedIn(const EnvironmentRecord& environment) {
    return environment.parking ? environment.parking->processes : std::vector<ParkedProcess>{};
}

// The same for the parked processes.
void keepLivingParked(std::vector<EnvironmentRecord>& environments, Processes& processes) {
    std::vector<ProcessIdentity> identities;
    for (const EnvironmentRecord& environment : environments) {
        for (const ParkedProcess& parked : parkedIn(environment))
            identities.push_back(parked.identity);
    }
    if (identities.empty())
        return;
    const auto pins = processes.findAgain(identities);
    std::size_t next = 0;
    for (EnvironmentRecord& environment : environments) {
        if (!environment.parking)
            continue;
        for (ParkedProcess& parked : environment.parking->processes)
            parked.pin = pins.at(next++);
        std::erase_if(environment.parking->processes,
                      [](const ParkedProcess& parked) { return parked.pin == nullptr; });
    }
}

// Pins the recorded processes that still exist, in a single call, and removes the others. A process
// that cannot be checked now is not considered dead: start-up fails, and the service is started
// again later.
void keepLiving(std::vector<EnvironmentRecord>& environments, Processes& processes) {
    std::vector<RootProcess*> wanted;
    for (EnvironmentRecord& environment : environments) {
        for (RootProcess& process : environment.processes)
            wanted.push_back(&process);
        for (JupyterKernel& jupyterKernel : environment.jupyterKernels)
            wanted.push_back(&jupyterKernel.process);
    }
    std::vector<ProcessIdentity> identities;
    identities.reserve(wanted.size());
    for (const RootProcess* process : wanted)
        identities.push_back(process->identity);
    const auto pins = processes.findAgain(identities);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i]->pin = pins.at(i);
    for (EnvironmentRecord& environment : environments) {
        std::erase_if(environment.processes,
                      [](const RootProcess& process) { return process.pin == nullptr; });
        std::erase_if(environment.jupyterKernels, [](const JupyterKernel& jupyterKernel) {
            return jupyterKernel.process.pin == nullptr;
        });
    }
    keepLivingParked(environments, processes);
}

// Sums the granted memory of each device, in the order of the grants.
class Bookings {
  public:
    // Returns whether the ledger could have granted an attachment after those before it. `memory`:
    // the memory of the device that can be granted.
    bool accept(const DeviceAttachment& attachment, Bytes memory) {
        Given& given = given_[attachment.device.uuid];
        const Bytes wanted = attachment.share.value_or(memory);
        const Bytes remaining = given.memory < memory ? memory - given.memory : Bytes{0};
        // Documents may disagree on the memory of a device, so a whole device is tracked separately
        // from the sum.
        const bool fits =
            attachment.share ? wanted <= remaining && !given.wholly : given.count == 0;
        if (!fits && !attachment.overSubscribed)
            return false;
        given.wholly = given.wholly || !attachment.share;
        given.memory = std::max(given.memory, std::min(given.memory + wanted, memory));
        ++given.count;
        return true;
    }

  private:
    struct Given {
        Bytes memory;
        std::size_t count = 0;
        bool wholly = false;
    };
    std::unordered_map<DeviceUuid, Given> given_;
};

// An attachment that was taken out of its environment.
struct Claimed {
    EnvironmentRecord* environment;
    DeviceAttachment attachment;
};

// Takes the attachments out of some environments and returns them in the order of the grants.
std::vector<Claimed> takeAttachments(std::span<EnvironmentRecord> environments) {
    std::vector<Claimed> claimed;
    for (EnvironmentRecord& environment : environments) {
        for (const DeviceAttachment& attachment : environment.attachments)
            claimed.push_back({&environment, attachment});
        environment.attachments.clear();
    }
    std::ranges::stable_sort(claimed, {},
                             [](const Claimed& each) { return each.attachment.sequence; });
    return claimed;
}

// Puts an attachment back, unless it conflicts.
void giveBack(Claimed&& claimed, Bookings& bookings, Bytes memory, RecoveryReport& report) {
    EnvironmentRecord& environment = *claimed.environment;
    const bool repeated = environment.attachmentTo(claimed.attachment.device.uuid) != nullptr;
    if (!repeated && bookings.accept(claimed.attachment, memory))
        environment.attachments.push_back(std::move(claimed.attachment));
    else
        report.conflicts.push_back(
            fmt::format("environment {} loses device {}, which was given already", environment.id,
                        claimed.attachment.device.index));
}

void dropConflicts(std::span<EnvironmentRecord> environments, RecoveryReport& report) {
    Bookings bookings;
    for (Claimed& claimed : takeAttachments(environments)) {
        const Bytes memory = claimed.attachment.device.totalMemory;
        giveBack(std::move(claimed), bookings, memory, report);
    }
}

std::unordered_map<EnvironmentId, const EnvironmentRecord*>
byId(std::span<const EnvironmentRecord> environments) {
    std::unordered_map<EnvironmentId, const EnvironmentRecord*> found;
    for (const EnvironmentRecord& environment : environments)
        found.emplace(environment.id, &environment);
    return found;
}

// A child holds only devices of its parent, and no larger share of them.
void dropConflicts(std::span<EnvironmentRecord> children,
                   std::span<const EnvironmentRecord> parents, RecoveryReport& report) {
    const auto parentsById = byId(parents);
    std::map<EnvironmentId, Bookings> bookings;
    for (Claimed& claimed : takeAttachments(children)) {
        const EnvironmentId& parent = *claimed.environment->parent;
        const DeviceAttachment* whole =
            parentsById.at(parent)->attachmentTo(claimed.attachment.device.uuid);
        if (whole == nullptr || (whole->share && claimed.attachment.share > whole->share)) {
            report.conflicts.push_back(
                fmt::format("environment {} loses device {}, of which environment {} has less",
                            claimed.environment->id, claimed.attachment.device.index, parent));
            continue;
        }
        if (!claimed.attachment.share)
            claimed.attachment.share = whole->share;
        const Bytes memory = whole->share.value_or(whole->device.totalMemory);
        giveBack(std::move(claimed), bookings[parent], memory, report);
    }
}

// A child whose parent is gone is over, for the same reason as the parent.
void endOrphans(std::vector<EnvironmentRecord>& environments, RecoveryReport& report) {
    const auto known = byId(environments);
    const auto hasParent = [&](const EnvironmentRecord& child) {
        const auto parent = known.find(*child.parent);
        return parent != known.end() && parent->second->sequence < child.sequence &&
               !parent->second->parent && parent->second->isAlive() &&
               !parent->second->isLingering();
    };
    for (EnvironmentRecord& child : environments) {
        if (!child.parent || !child.isAlive() || hasParent(child))
            continue;
        const auto end = std::ranges::find_if(report.endedMeanwhile, [&](const auto& ended) {
            return ended.isOver && ended.former.id == *child.parent;
        });
        ++report.ended;
        EndedMeanwhile ended{child, child.attachments, true,
                             end != report.endedMeanwhile.end() ? end->reason
                                                                : Reason::processExit()};
        report.endedMeanwhile.push_back(std::move(ended));
        child.end();
    }
}

// Ends what a lease ended while the service was not running. No process is killed for it.
void endExpired(EnvironmentRecord& environment, BootTime now, RecoveryReport& report) {
    if (environment.parking && environment.parking->reason == Reason::expired().text())
        return; // it is parked instead of ended
    if (environment.lease && environment.lease->until <= now) {
        report.expired.push_back({environment.id, std::nullopt});
        report.endedMeanwhile.push_back(
            {environment, environment.attachments, true, Reason::expired()});
        environment.endWithParked(Reason::expired().text());
        return;
    }
    EndedMeanwhile ended{environment, {}, false, Reason::expired()};
    std::erase_if(environment.attachments, [&](const DeviceAttachment& attachment) {
        const bool isOver = attachment.lease && attachment.lease->until <= now;
        if (isOver) {
            report.expired.push_back({environment.id, attachment.device.index});
            ended.attachments.push_back(attachment);
        }
        return isOver;
    });
    if (!ended.attachments.empty())
        report.endedMeanwhile.push_back(std::move(ended));
}

// The ledger finds waits and locks by number, so each number must be unique. A lock may only share
// its number with a wait that is the same environment's request for it.
void dropRepeatedNumbers(std::vector<EnvironmentRecord>& environments) {
    std::set<std::uint64_t> tickets;
    std::map<std::uint64_t, const EnvironmentRecord*> locks;
    for (EnvironmentRecord& environment : environments) {
        std::erase_if(environment.waits,
                      [&](const Wait& wait) { return !tickets.insert(wait.ticket).second; });
        std::erase_if(environment.locks, [&](const HeldLock& lock) {
            return !locks.emplace(lock.number, &environment).second;
        });
    }
    for (EnvironmentRecord& environment : environments) {
        std::erase_if(environment.lockWaits, [&](const LockWait& wait) {
            const auto lock = locks.find(wait.ticket);
            return (lock != locks.end() && lock->second != &environment) ||
                   !tickets.insert(wait.ticket).second;
        });
    }
}

// The ledger finds an environment by its number and by its processes, so each of these belongs to
// one environment only: the oldest.
void dropSharedProcesses(std::vector<EnvironmentRecord>& environments) {
    std::map<ProcessIdentity, const EnvironmentRecord*> owners;
    for (EnvironmentRecord& environment : environments) {
        const auto isAnothers = [&](const ProcessIdentity& process) {
            return owners.emplace(process, &environment).first->second != &environment;
        };
        std::erase_if(environment.processes,
                      [&](const RootProcess& process) { return isAnothers(process.identity); });
        std::erase_if(environment.jupyterKernels, [&](const JupyterKernel& jupyterKernel) {
            return isAnothers(jupyterKernel.process.identity);
        });
        if (environment.parking)
            std::erase_if(environment.parking->processes,
                          [&](const ParkedProcess& parked) { return isAnothers(parked.identity); });
    }
}

void renumberRepeated(std::vector<EnvironmentRecord>& environments) {
    std::set<std::uint64_t> all;
    for (const EnvironmentRecord& environment : environments)
        all.insert(environment.sequence);
    std::set<std::uint64_t> taken;
    std::uint64_t unused = 0;
    for (EnvironmentRecord& environment : environments) {
        if (taken.insert(environment.sequence).second)
            continue;
        while (!all.insert(++unused).second) {
        }
        environment.sequence = unused;
        taken.insert(unused);
    }
}

// Returns the decoded document, or nothing if it was set aside.
std::optional<EnvironmentRecord> read(const Store::Found& found, Store& store,
                                      RecoveryReport& report) {
    try {
        EnvironmentRecord environment = decodeState(found.text);
        if (store.nameOf(environment.id) != found.name)
            throw StateError("it has another environment's name");
        return environment;
    } catch (const StateError& error) {
        store.setAside(found.name, error.what());
        ++report.setAside;
        return std::nullopt;
    }
}

} // namespace

RecoveryReport recover(Ledger& ledger, Store& store, Processes& processes, BootTime now) {
    LedgerRecovery recovery(ledger);
    RecoveryReport report;
    std::vector<EnvironmentRecord> environments;
    std::unordered_map<EnvironmentId, EnvironmentRecord> written;
    for (const Store::Found& found : store.readAll()) {
        std::optional<EnvironmentRecord> environment = read(found, store, report);
        if (!environment)
            continue;
        written[environment->id] = *environment;
        environments.push_back(std::move(*environment));
    }
    keepLiving(environments, processes);
    for (EnvironmentRecord& environment : environments) {
        recovery.settleFound(environment, written.at(environment.id));
        if (!environment.isAlive()) {
            ++report.ended;
            report.endedMeanwhile.push_back(
                {environment, environment.attachments, true, Reason::processExit()});
        } else {
            endExpired(environment, now, report);
        }
    }
    std::stable_sort(environments.begin(), environments.end(),
                     [](const EnvironmentRecord& a, const EnvironmentRecord& b) {
                         return a.sequence < b.sequence;
                     });
    dropSharedProcesses(environments);
    renumberRepeated(environments);
    endOrphans(environments, report);
    const auto restore = [&](EnvironmentRecord& environment) {
        const EnvironmentRecord* asWritten = &written.at(environment.id);
        recovery.restore(std::move(environment), asWritten);
    };
    std::vector<EnvironmentRecord> living;
    for (EnvironmentRecord& environment : environments) {
        if (environment.isAlive())
            living.push_back(std::move(environment));
        else
            restore(environment); // without a process it ends, and its document is removed
    }
    // Parents come first, since the devices of their children are a part of theirs.
    const auto isNoChild = [](const EnvironmentRecord& environment) { return !environment.parent; };
    const auto firstChild = std::stable_partition(living.begin(), living.end(), isNoChild);
    const std::span<EnvironmentRecord> parents(living.begin(), firstChild);
    dropConflicts(parents, report);
    dropConflicts(std::span<EnvironmentRecord>(firstChild, living.end()), parents, report);
    dropRepeatedNumbers(living);
    report.restored = living.size();
    for (EnvironmentRecord& environment : living)
        restore(environment);
    // Numbers of requests that left no trace are not reused: no service has given out one number
    // per microsecond since boot.
    recovery.numberFrom(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    return report;
}

} // namespace genv::core
