// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/slurm/jobs.hpp"

#include "core/base/error.hpp"

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
std::optional<Uid> ownerOf(const ObservedProcess& process) {
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
    std::set<SlurmJobName> names;
    for (const ObservedProcess& process : observation.processes) {
        if (!process.slurm)
            continue;
        names.insert(process.slurm->job);
        if (!isReported(process.slurm->job))
            add(process, observation.started, jobs);
    }
    for (const SlurmJobName& name : names)
        identify(name, [] {});
    for (const auto& entry : jobs) {
        users_.describe(entry.second.owner, [this, entry](const UserInfo& owner) {
            const auto& [name, seen] = entry;
            if (!isReported(name))
                number(name, seen, owner);
        });
    }
}

// Returns whether a prolog reported the devices of a job.
bool Jobs::isReported(const SlurmJobName& name) const {
    const EnvironmentRecord* environment = ledger_.findJob(name);
    return environment != nullptr && !environment->job->isInferred;
}

// Returns whether a job has ended since a sample began.
bool Jobs::hasEnded(const SlurmJobName& name, BootTime started) const {
    const auto ended = ended_.find(name);
    return ended != ended_.end() && started <= ended->second;
}

void Jobs::add(const ObservedProcess& process, BootTime started, SeenJobs& seen) const {
    const SlurmJobName& name = process.slurm->job;
    const auto owner = ownerOf(process);
    if (!owner || hasEnded(name, started))
        return;
    for (const ComputeUse& use : process.uses) {
        const TableDevice* device = ledger_.devices().findUuid(use.device);
        if (device == nullptr || !device->reservedForSlurm)
            continue;
        Seen& known = seen.try_emplace(name, Seen{*owner, started, {}}).first->second;
        if (known.owner == *owner)
            known.devices.insert(use.device);
    }
}

// Starts a job once its number is known.
void Jobs::number(const SlurmJobName& name, const Seen& seen, const UserInfo& owner) {
    if (const auto* job = std::get_if<SlurmJobId>(&name)) {
        start({*job, seen.owner, owner.name, {}}, seen);
        return;
    }
    const Sluid sluid = std::get<Sluid>(name);
    numbers_.find(sluid, [this, sluid, seen, owner](std::optional<SlurmJobId> job) {
        if (!job || hasEnded(sluid, seen.started) || hasEnded(*job, seen.started))
            return;
        ledger_.setJobSluid(*job, sluid);
        if (!isReported(sluid))
            start({*job, seen.owner, owner.name, {}, sluid}, seen);
    });
}

void Jobs::start(const NewSlurmJob& job, const Seen& seen) {
    std::set<DeviceUuid> devices = seen.devices;
    const EnvironmentRecord* environment = ledger_.find(environmentIdOf(job.id));
    if (environment != nullptr && !environment->job)
        return; // a user has the id, since an earlier version of genv
    if (environment != nullptr && isOtherRun(*environment->job, job.sluid))
        environment = nullptr;
    if (environment != nullptr && environment->uid != seen.owner)
        return; // the owner that was seen first stays
    if (environment != nullptr) {
        for (const DeviceAttachment& attachment : environment->attachments)
            devices.insert(attachment.device.uuid);
        if (devices.size() == environment->attachments.size())
            return;
    } else {
        log_.notice("Slurm job {} of uid {} uses GPUs of Slurm without a prolog; its environment "
                    "begins now",
                    job.id, seen.owner);
    }
    NewSlurmJob wanted = job;
    wanted.devices = {devices.begin(), devices.end()};
    wanted.isInferred = true;
    wanted.evict = true;
    try {
        ledger_.startJob(wanted);
    } catch (const Error& error) {
        log_.error("the environment of Slurm job {} cannot begin: {}", job.id, error.what());
    }
}

// Returns whether the job of a cgroup may have an environment that does not know its SLUID, since
// its prolog told none.
bool Jobs::mayBeIdentified(const SlurmJobName& name) const {
    const auto& environments = ledger_.environments();
    return std::holds_alternative<Sluid>(name) && ledger_.findJob(name) == nullptr &&
           std::ranges::any_of(environments, [](const auto& entry) {
               return entry.second.job && !entry.second.job->sluid;
           });
}

void Jobs::identify(const SlurmJobName& name, std::function<void()> done) {
    if (!mayBeIdentified(name)) {
        done();
        return;
    }
    const Sluid sluid = std::get<Sluid>(name);
    numbers_.find(sluid, [this, sluid, done = std::move(done)](std::optional<SlurmJobId> job) {
        if (job)
            ledger_.setJobSluid(*job, sluid);
        done();
    });
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
        if (!present.isRead)
            return;
        for (const SlurmJobName& name : present.jobs)
            identify(name, [] {});
        judge(present);
    });
}

void Jobs::judge(const JobCgroupList& present) {
    const BootTime now = clock_.bootNow();
    std::map<std::uint64_t, Absence> absences;
    std::vector<EnvironmentId> gone;
    // Such a cgroup may be that of any job whose SLUID is not known.
    const bool hasUnknown = std::ranges::any_of(present.jobs, [&](const SlurmJobName& name) {
        const auto* sluid = std::get_if<Sluid>(&name);
        return sluid != nullptr && ledger_.findJob(name) == nullptr && !numbers_.known(*sluid);
    });
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (!environment.job)
            continue;
        Absence absence = absences_[sequence];
        const SlurmJob& job = *environment.job;
        const bool isThere = present.jobs.contains(job.id) ||
                             (job.sluid ? present.jobs.contains(*job.sluid) : hasUnknown);
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
    const SlurmJob& job = *removed->former->job;
    ended_[job.id] = now;
    if (job.sluid)
        ended_[*job.sluid] = now;
}

} // namespace genv::core
