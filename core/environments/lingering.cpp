// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environments/lingering.hpp"

#include "core/base/error.hpp"
#include "core/ledger/membership.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// Returns the environment with all its former members among its processes.
EnvironmentRecord withMembers(const EnvironmentRecord& environment) {
    EnvironmentRecord former = environment;
    if (environment.pendingEnd) {
        for (const ProcessIdentity& member : environment.pendingEnd->members)
            former.processes.push_back({member, nullptr});
    }
    return former;
}

std::set<DeviceUuid> heldAndUsed(const EnvironmentRecord& environment,
                                 const ObservedProcess& process) {
    std::set<DeviceUuid> devices;
    for (const ComputeUse& use : process.uses) {
        if (environment.attachmentTo(use.device) != nullptr)
            devices.insert(use.device);
    }
    return devices;
}

// Returns whether an observation was taken after the environment got its devices. An earlier one
// does not show its processes.
bool isAbout(const Observation& observation, const EnvironmentRecord& environment) {
    return std::all_of(environment.attachments.begin(), environment.attachments.end(),
                       [&](const DeviceAttachment& attachment) {
                           return attachment.since <= observation.takenAt;
                       });
}

} // namespace

Lingering::Lingering(Ledger& ledger, Observer& observer, Processes& processes, Scheduler& scheduler,
                     const EventHub& events, std::function<bool()> mayLinger)
    : ledger_(ledger), observer_(observer), processes_(processes), scheduler_(scheduler),
      events_(events) {
    ledger_.letLinger(
        [this, mayLinger = std::move(mayLinger)](const EnvironmentRecord& environment) {
            return mayLinger() ? std::optional(knownMembers(environment)) : std::nullopt;
        });
}

// Without a driver, an observation says nothing about processes.
std::shared_ptr<const Observation> Lingering::lastWorking() const {
    const std::shared_ptr<const Observation> last = observer_.last();
    return last && last->noDriver.empty() ? last : working_;
}

// Returns the environment's compute processes in the last sample. A process without a hint and
// without a living root process among its ancestors can only be recognised by this list.
std::vector<ProcessIdentity> Lingering::knownMembers(const EnvironmentRecord& environment) const {
    std::vector<ProcessIdentity> members;
    const std::shared_ptr<const Observation> last = lastWorking();
    if (!last)
        return members;
    const EnvironmentRecord former = withMembers(environment);
    const EnvironmentLookup lookup = lookupIn(ledger_, former);
    for (const ObservedProcess& process : last->processes) {
        if (environmentOf(lookup, process) == &former)
            members.push_back(process.facts.identity);
    }
    return members;
}

void Lingering::start() {
    for (const auto& [sequence, environment] : ledger_.environments()) {
        if (environment.pendingEnd)
            add(environment);
    }
}

void Lingering::onEvent(const Event& event) {
    if (const auto* ending = std::get_if<EnvironmentEnding>(&event)) {
        add(ledger_.get(ending->environment));
    } else if (const auto* removed = std::get_if<EnvironmentRemoved>(&event)) {
        reported_.erase(removed->former->sequence);
        unreported_.erase(removed->former->sequence);
        ends_.erase(removed->former->sequence);
    } else if (const auto* changed = std::get_if<EnvironmentChanged>(&event);
               changed != nullptr && changed->field == EnvironmentField::Lingering) {
        // The owner has joined it, and is notified again when it lingers again.
        const EnvironmentRecord& environment = ledger_.get(changed->environment);
        if (environment.isRegistered())
            reported_.erase(environment.sequence);
    }
}

void Lingering::add(const EnvironmentRecord& environment) {
    if (!gathering_) {
        gathering_ = std::make_shared<Round>();
        scheduler_.soon([this] { begin(); });
    }
    ends_[environment.sequence] = ++lastEnd_;
    gathering_->subjects.push_back({environment.id, environment.sequence, lastEnd_});
}

void Lingering::begin() {
    const std::shared_ptr<Round> round = std::exchange(gathering_, nullptr);
    rounds_.push_back(round);
    round->deadline = scheduler_.after(endingSampleDeadline, [this, ending = std::weak_ptr(round)] {
        if (const std::shared_ptr<Round> late = ending.lock())
            sampled(late, false);
    });
    observer_.observe(std::chrono::milliseconds{0},
                      [this, round](const auto& observation, const std::string&) {
                          sampled(round, observation && observation->noDriver.empty());
                      });
}

bool Lingering::isSettling() const {
    return gathering_ != nullptr || !rounds_.empty();
}

void Lingering::whenSettled(std::function<void()> function) {
    if (gathering_)
        gathering_->afterwards.push_back(std::move(function));
    else if (!rounds_.empty())
        rounds_.back()->afterwards.push_back(std::move(function));
    else
        scheduler_.soon(std::move(function));
}

// Decides by the requested sample or, if it did not arrive in time, by the last one.
void Lingering::sampled(const std::shared_ptr<Round>& round, bool inTime) {
    if (std::exchange(round->sampled, true))
        return;
    round->deadline.reset();
    const std::shared_ptr<const Observation> last = lastWorking();
    ++round->undecided; // counts this function itself
    for (const Subject& subject : round->subjects) {
        const EnvironmentRecord* environment = pending(subject);
        if (environment == nullptr) // joined by a process, or ended for another reason
            continue;
        if (last && (inTime || isAbout(*last, *environment)))
            decide(subject, *last, round);
        else
            undecided_.push_back(subject);
    }
    settle(round);
}

void Lingering::settle(const std::shared_ptr<Round>& round) {
    if (--round->undecided > 0)
        return;
    std::erase(rounds_, round);
    for (const auto& function : round->afterwards)
        function();
}

void Lingering::observed(const Observation& observation) {
    if (!observation.noDriver.empty())
        return;
    working_ = observer_.last();
    for (const Subject& subject : std::exchange(undecided_, {}))
        decide(subject, observation, nullptr);
}

const EnvironmentRecord* Lingering::pending(const Subject& subject) const {
    const auto latest = ends_.find(subject.sequence);
    if (latest == ends_.end() || latest->second != subject.end)
        return nullptr;
    const EnvironmentRecord* environment = ledger_.find(subject.environment);
    return environment != nullptr && environment->sequence == subject.sequence &&
                   environment->pendingEnd
               ? environment
               : nullptr;
}

std::vector<Lingering::User> Lingering::usersOf(const EnvironmentRecord& environment,
                                                const Observation& observation) const {
    const EnvironmentRecord former = withMembers(environment);
    const EnvironmentLookup lookup = lookupIn(ledger_, former);
    std::vector<User> users;
    for (const ObservedProcess& process : observation.processes) {
        std::set<DeviceUuid> devices = heldAndUsed(former, process);
        const ProcessIdentity& identity = process.facts.identity;
        const EnvironmentRecord* registered = ledger_.environmentOfRoot(identity);
        // Devices that a child's processes use are kept by the parent, with which the child ends.
        const auto isHere = [&](const EnvironmentRecord* other) {
            return other == &environment || other == &former ||
                   (other != nullptr && other->parent == environment.id);
        };
        if (!devices.empty() && !process.isMpsServer &&
            (registered == nullptr || isHere(registered)) && isHere(environmentOf(lookup, process)))
            users.push_back({identity, std::move(devices), nullptr});
    }
    return users;
}

void Lingering::decide(const Subject& subject, const Observation& observation,
                       const std::shared_ptr<Round>& round) {
    const EnvironmentRecord* environment = pending(subject);
    if (environment == nullptr)
        return;
    const Uid owner = environment->uid;
    const std::vector<User> users = usersOf(*environment, observation);
    const auto decision = std::make_shared<Decision>(Decision{subject, round, users.size(), false});
    if (round)
        ++round->undecided;
    if (users.empty())
        conclude(*decision);
    for (const User& user : users)
        pin(decision, user, owner);
}

void Lingering::pin(const std::shared_ptr<Decision>& decision, const User& user, Uid owner) {
    const auto answer = [this, decision, user,
                         lives = std::weak_ptr(lives_)](const ProcessRead<PinnedProcess>& read) {
        if (!lives.expired())
            pinned(*decision, user, read);
    };
    try {
        processes_.pin(user.process.pid, owner, answer);
    } catch (const Error& error) {
        pinned(*decision, user, error);
    }
}

void Lingering::pinned(Decision& decision, const User& user,
                       const ProcessRead<PinnedProcess>& read) {
    try {
        const std::shared_ptr<const ProcessPin>& pin = read.get().pin;
        if (pin->identity() == user.process)
            decision.users.push_back({user.process, user.devices, pin});
    } catch (const Error& error) {
        if (error.code() != ErrorCode::NoSuchProcess)
            decision.mustAskAgain = true;
    }
    if (--decision.unpinned == 0)
        conclude(decision);
}

void Lingering::conclude(const Decision& decision) {
    if (decision.mustAskAgain)
        undecided_.push_back(decision.subject);
    else if (pending(decision.subject) != nullptr)
        concludeFor(decision.subject, decision.users);
    if (decision.round)
        settle(decision.round);
}

void Lingering::concludeFor(const Subject& subject, const std::vector<User>& users) {
    std::vector<RootProcess> living;
    std::set<DeviceUuid> used;
    for (const User& user : users) {
        if (user.pin->hasExited()) // exited while another one was being pinned
            continue;
        living.push_back({user.process, user.pin, true});
        used.insert(user.devices.begin(), user.devices.end());
    }
    ledger_.concludeEnd(subject.environment, std::move(living), used);
    const EnvironmentRecord* now = ledger_.find(subject.environment);
    if (now != nullptr && now->sequence == subject.sequence && now->isLingering())
        reportLater(*now);
}

void Lingering::reportLater(const EnvironmentRecord& environment) {
    const Subject subject{environment.id, environment.sequence, 0};
    if (!reported_.contains(subject.sequence))
        unreported_[subject.sequence] =
            scheduler_.after(lingeringReportDelay, [this, subject] { reportNow(subject); });
}

void Lingering::reportNow(const Subject& subject) {
    unreported_.erase(subject.sequence);
    const EnvironmentRecord* environment = ledger_.find(subject.environment);
    if (environment == nullptr || environment->sequence != subject.sequence ||
        !environment->isLingering())
        return;
    reported_.insert(subject.sequence);
    EnvironmentLingers event{environment->id, environment->uid, {}, {}};
    for (const RootProcess& root : environment->processes)
        event.processes.push_back(root.identity.pid);
    for (const DeviceAttachment& attachment : environment->attachments)
        event.devices.push_back(attachment.device);
    std::ranges::sort(event.processes);
    std::ranges::sort(event.devices, {}, &DeviceFacts::index);
    events_.emit(event);
}

} // namespace genv::core
