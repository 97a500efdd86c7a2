// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/recovery.hpp"

#include "core/error.hpp"
#include "core/state_schema.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

namespace genv::core {

namespace {

// Pins the processes that still are the ones that were written down, all in one look; the others
// are left out. One that cannot be looked at now is not dead: then the service starts another time.
void keepLiving(std::vector<Environment>& environments, Processes& processes) {
    std::vector<RootProcess*> wanted;
    for (Environment& environment : environments) {
        for (RootProcess& process : environment.processes)
            wanted.push_back(&process);
        for (Kernel& kernel : environment.kernels)
            wanted.push_back(&kernel.process);
    }
    std::vector<ProcessIdentity> identities;
    identities.reserve(wanted.size());
    for (const RootProcess* process : wanted)
        identities.push_back(process->identity);
    const auto pins = processes.findAgain(identities);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i]->pin = pins.at(i);
    for (Environment& environment : environments) {
        std::erase_if(environment.processes,
                      [](const RootProcess& process) { return process.pin == nullptr; });
        std::erase_if(environment.kernels,
                      [](const Kernel& kernel) { return kernel.process.pin == nullptr; });
    }
}

// Adds up what is given of each device, in the order in which it was given.
class Bookings {
  public:
    // Whether an attachment is one that the ledger could have made after those before it. `memory`:
    // what there is of the device to give.
    bool accept(const Attachment& attachment, Bytes memory) {
        Given& given = given_[attachment.device.uuid];
        const Bytes wanted = attachment.share.value_or(memory);
        const Bytes left = given.memory < memory ? memory - given.memory : Bytes{0};
        // Documents need not agree on how much memory there is, so a whole device is no mere sum.
        const bool fits = attachment.share ? wanted <= left && !given.wholly : given.count == 0;
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

// An attachment of an environment, taken out of it.
struct Claimed {
    Environment* environment;
    Attachment attachment;
};

// The attachments of some environments, which lose them, in the order in which they were given.
std::vector<Claimed> takeAttachments(std::span<Environment> environments) {
    std::vector<Claimed> claimed;
    for (Environment& environment : environments) {
        for (const Attachment& attachment : environment.attachments)
            claimed.push_back({&environment, attachment});
        environment.attachments.clear();
    }
    std::ranges::stable_sort(claimed, {},
                             [](const Claimed& each) { return each.attachment.sequence; });
    return claimed;
}

// Gives an attachment back where it is not one too many.
void giveBack(Claimed&& claimed, Bookings& bookings, Bytes memory, RecoveryReport& report) {
    Environment& environment = *claimed.environment;
    const bool repeated = environment.attachmentTo(claimed.attachment.device.uuid) != nullptr;
    if (!repeated && bookings.accept(claimed.attachment, memory))
        environment.attachments.push_back(std::move(claimed.attachment));
    else
        report.conflicts.push_back(
            fmt::format("environment {} loses device {}, which was given already", environment.id,
                        claimed.attachment.device.index));
}

void dropConflicts(std::span<Environment> environments, RecoveryReport& report) {
    Bookings bookings;
    for (Claimed& claimed : takeAttachments(environments)) {
        const Bytes memory = claimed.attachment.device.totalMemory;
        giveBack(std::move(claimed), bookings, memory, report);
    }
}

std::unordered_map<EnvironmentId, const Environment*>
byId(std::span<const Environment> environments) {
    std::unordered_map<EnvironmentId, const Environment*> found;
    for (const Environment& environment : environments)
        found.emplace(environment.id, &environment);
    return found;
}

// A child holds nothing that its parent does not, and no more of it.
void dropConflicts(std::span<Environment> children, std::span<const Environment> parents,
                   RecoveryReport& report) {
    const auto parentsById = byId(parents);
    std::map<EnvironmentId, Bookings> bookings;
    for (Claimed& claimed : takeAttachments(children)) {
        const EnvironmentId& parent = *claimed.environment->parent;
        const Attachment* whole =
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

// A child without the environment that it is within is over, for the reason for which that is.
void endOrphans(std::vector<Environment>& environments, RecoveryReport& report) {
    const auto known = byId(environments);
    const auto hasParent = [&](const Environment& child) {
        const auto parent = known.find(*child.parent);
        return parent != known.end() && parent->second->sequence < child.sequence &&
               !parent->second->parent && parent->second->isAlive() &&
               !parent->second->isLingering();
    };
    for (Environment& child : environments) {
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

// What a lease ended while nobody looked. Nothing is killed for it.
void endExpired(Environment& environment, BootTime now, RecoveryReport& report) {
    if (environment.lease && environment.lease->until <= now) {
        report.expired.push_back({environment.id, std::nullopt});
        report.endedMeanwhile.push_back(
            {environment, environment.attachments, true, Reason::expired()});
        environment.end();
        return;
    }
    EndedMeanwhile ended{environment, {}, false, Reason::expired()};
    std::erase_if(environment.attachments, [&](const Attachment& attachment) {
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

// The ledger finds waits and locks by their numbers, so each has its own; a lock alone has that of
// a wait, which is the same environment's request for it.
void dropRepeatedNumbers(std::vector<Environment>& environments) {
    std::set<std::uint64_t> tickets;
    std::map<std::uint64_t, const Environment*> locks;
    for (Environment& environment : environments) {
        std::erase_if(environment.waits,
                      [&](const Wait& wait) { return !tickets.insert(wait.ticket).second; });
        std::erase_if(environment.locks, [&](const HeldLock& lock) {
            return !locks.emplace(lock.number, &environment).second;
        });
    }
    for (Environment& environment : environments) {
        std::erase_if(environment.lockWaits, [&](const LockWait& wait) {
            const auto lock = locks.find(wait.ticket);
            return (lock != locks.end() && lock->second != &environment) ||
                   !tickets.insert(wait.ticket).second;
        });
    }
}

// The ledger finds an environment by its number and by its processes, so each is one environment's:
// the oldest's.
void dropSharedProcesses(std::vector<Environment>& environments) {
    std::map<ProcessIdentity, const Environment*> owners;
    for (Environment& environment : environments) {
        const auto isAnothers = [&](const ProcessIdentity& process) {
            return owners.emplace(process, &environment).first->second != &environment;
        };
        std::erase_if(environment.processes,
                      [&](const RootProcess& process) { return isAnothers(process.identity); });
        std::erase_if(environment.kernels,
                      [&](const Kernel& kernel) { return isAnothers(kernel.process.identity); });
    }
}

void renumberRepeated(std::vector<Environment>& environments) {
    std::set<std::uint64_t> all;
    for (const Environment& environment : environments)
        all.insert(environment.sequence);
    std::set<std::uint64_t> taken;
    std::uint64_t unused = 0;
    for (Environment& environment : environments) {
        if (taken.insert(environment.sequence).second)
            continue;
        while (!all.insert(++unused).second) {
        }
        environment.sequence = unused;
        taken.insert(unused);
    }
}

// A document, or nothing when it was set aside.
std::optional<Environment> read(const Store::Found& found, Store& store, RecoveryReport& report) {
    try {
        Environment environment = decodeState(found.text);
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
    RecoveryReport report;
    std::vector<Environment> environments;
    std::unordered_map<EnvironmentId, Environment> written;
    for (const Store::Found& found : store.readAll()) {
        std::optional<Environment> environment = read(found, store, report);
        if (!environment)
            continue;
        written[environment->id] = *environment;
        environments.push_back(std::move(*environment));
    }
    keepLiving(environments, processes);
    for (Environment& environment : environments) {
        ledger.settleFound(environment, written.at(environment.id));
        if (!environment.isAlive()) {
            ++report.ended;
            report.endedMeanwhile.push_back(
                {environment, environment.attachments, true, Reason::processExit()});
        } else {
            endExpired(environment, now, report);
        }
    }
    std::stable_sort(
        environments.begin(), environments.end(),
        [](const Environment& a, const Environment& b) { return a.sequence < b.sequence; });
    dropSharedProcesses(environments);
    renumberRepeated(environments);
    endOrphans(environments, report);
    const auto restore = [&](Environment& environment) {
        const Environment* asWritten = &written.at(environment.id);
        ledger.restore(std::move(environment), asWritten);
    };
    std::vector<Environment> living;
    for (Environment& environment : environments) {
        if (environment.isAlive())
            living.push_back(std::move(environment));
        else
            restore(environment); // without a process it ends, and its document goes
    }
    // Parents come first, since what their children have is a part of it.
    const auto isNoChild = [](const Environment& environment) { return !environment.parent; };
    const auto firstChild = std::stable_partition(living.begin(), living.end(), isNoChild);
    const std::span<Environment> parents(living.begin(), firstChild);
    dropConflicts(parents, report);
    dropConflicts(std::span<Environment>(firstChild, living.end()), parents, report);
    dropRepeatedNumbers(living);
    report.restored = living.size();
    for (Environment& environment : living)
        restore(environment);
    // Numbers of requests that left no trace are not given again: no service gave one for each
    // microsecond since the machine started.
    ledger.numberFrom(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    return report;
}

} // namespace genv::core
