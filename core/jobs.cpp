// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/jobs.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace genv::core {

namespace {

// Longer than any sample takes.
constexpr std::chrono::minutes endedFor{10};

// Returns the owner of a job as far as one of its processes shows it. If the path names the owner,
// the process must not run as another user. Otherwise all uids of the process must be the same
// user's, and root's processes show nothing. A process in a container has uids of the container,
// and shows the owner of its user namespace.
std::optional<Uid> ownerOf(const ComputeProcess& process) {
    const ProcessUids& uids = process.facts.uids;
    const Uid user = process.user();
    const bool isTheirs = uids.areAll(user) || (process.userNamespaceOwner && !uids.hasRoot());
    if (process.slurm->owner)
        return uids.areOnly(*process.slurm->owner) || (isTheirs && user == *process.slurm->owner)
                   ? process.slurm->owner
                   : std::nullopt;
    return user != 0 && isTheirs ? std::optional(user) : std::nullopt;
}

} // namespace

void Jobs::observed(const Observation& observation) {
    SeenJobs jobs;
    for (const ComputeProcess& process : observation.processes) {
        if (process.slurm && !isReported(process.slurm->job))
            add(process, observation.started, jobs);
    }
    for (const auto& entry : jobs) {
        users_.describe(entry.second.owner, [this, entry](const UserInfo& owner) {
            const auto& [job, seen] = entry;
            if (!isReported(job))
                start(job, seen, owner);
        });
    }
}

// Returns whether a prolog reported the devices of a job.
bool Jobs::isReported(SlurmJobId job) const {
    const Environment* environment = ledger_.find(environmentIdOf(job));
    return environment != nullptr && !(environment->job && environment->job->isInferred);
}

void Jobs::add(const ComputeProcess& process, BootTime started, SeenJobs& seen) const {
    const SlurmJobId job = process.slurm->job;
    const auto owner = ownerOf(process);
    const auto ended = ended_.find(job);
    if (!owner || (ended != ended_.end() && started <= ended->second))
        return;
    for (const ComputeUse& use : process.uses) {
        const Device* device = ledger_.devices().findUuid(use.device);
        if (device == nullptr || !device->reservedForSlurm)
            continue;
        Seen& known = seen.try_emplace(job, Seen{*owner, {}}).first->second;
        if (known.owner == *owner)
            known.devices.insert(use.device);
    }
}

void Jobs::start(SlurmJobId job, const Seen& seen, const UserInfo& owner) {
    std::set<DeviceUuid> devices = seen.devices;
    const Environment* environment = ledger_.find(environmentIdOf(job));
    if (environment != nullptr && environment->uid != seen.owner)
        return; // the owner that was seen first stays
    if (environment != nullptr) {
        for (const Attachment& attachment : environment->attachments)
            devices.insert(attachment.device.uuid);
        if (devices.size() == environment->attachments.size())
            return;
    } else {
        log_.notice("Slurm job {} of uid {} uses GPUs of Slurm without a prolog; its environment "
                    "begins now",
                    job, seen.owner);
    }
    NewJob wanted{job, seen.owner, owner.name, {devices.begin(), devices.end()}};
    wanted.isInferred = true;
    wanted.evict = true;
    try {
        ledger_.startJob(wanted);
    } catch (const Error& error) {
        log_.error("the environment of Slurm job {} cannot begin: {}", job, error.what());
    }
}

void Jobs::check() {
    const auto& environments = ledger_.environments();
    const bool hasJobs =
        std::any_of(environments.begin(), environments.end(),
                    [](const auto& entry) { return entry.second.job.has_value(); });
    if (!hasJobs) {
        absences_.clear();
        return;
    }
    if (std::exchange(isAsking_, true))
        return;
    cgroups_.list([this](const JobCgroupList& present) {
        isAsking_ = false;
        if (present.isRead)
            judge(present);
    });
}

void Jobs::judge(const JobCgroupList& present) {
    const BootTime now = clock_.bootNow();
    std::map<std::uint64_t, Absence> absences;
    std::vector<EnvironmentId> gone;
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (!environment.job)
            continue;
        Absence absence = absences_[sequence];
        const bool isThere = present.jobs.contains(environment.job->id);
        absence.wasThere = absence.wasThere || isThere;
        if (isThere || !(present.hasSlurm || absence.wasThere))
            absence.since.reset();
        else if (!absence.since)
            absence.since = now;
        if (absence.since && now - *absence.since >= jobGoneAfter)
            gone.push_back(environment.id);
        absences[sequence] = absence;
    }
    absences_ = std::move(absences);
    for (const EnvironmentId& id : gone) {
        log_.notice("environment {} ends: the control group of its Slurm job is gone", id);
        ledger_.end(id, Cause::fact(Reason::job()));
    }
}

void Jobs::onEvent(const Event& event) {
    const auto* removed = std::get_if<EnvironmentRemoved>(&event);
    if (removed == nullptr || !removed->former->job)
        return;
    const BootTime now = clock_.bootNow();
    std::erase_if(ended_, [&](const auto& entry) { return entry.second + endedFor < now; });
    ended_[removed->former->job->id] = now;
}

} // namespace genv::core
