// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/terminator.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

struct Terminator::Victim {
    Victim(Judged asJudged, std::shared_ptr<const ProcessHandle> held)
        : judged(std::move(asJudged)), handle(std::move(held)) {}

    const Judged judged;
    const std::shared_ptr<const ProcessHandle> handle;
    std::unique_ptr<Scheduled> timer;

    // Returns whether the process still exists and belongs to the same user.
    [[nodiscard]] bool isAsJudged() const {
        return !handle->hasExited() && handle->hasUids(judged.facts.uids);
    }
};

namespace {

const ObservedProcess* findProcess(const Observation& observation, Pid pid) {
    const auto found =
        std::find_if(observation.processes.begin(), observation.processes.end(),
                     [&](const ObservedProcess& p) { return p.facts.identity.pid == pid; });
    return found == observation.processes.end() ? nullptr : &*found;
}

bool usesOneOf(const ObservedProcess& process, const std::vector<DeviceUuid>& devices) {
    return std::any_of(process.uses.begin(), process.uses.end(), [&](const ComputeUse& use) {
        return std::find(devices.begin(), devices.end(), use.device) != devices.end();
    });
}

} // namespace

Terminator::Terminator(Processes& processes, Observer& observer, Scheduler& scheduler,
                       const EventHub& events, Pid self,
                       std::function<std::chrono::milliseconds()> killAfter)
    : processes_(processes), observer_(observer), scheduler_(scheduler), events_(events),
      self_(self), killAfter_(std::move(killAfter)), alive_(std::make_shared<bool>(true)) {}

Terminator::~Terminator() {
    *alive_ = false;
}

std::string describe(TerminationOutcome outcome, Pid pid) {
    switch (outcome) {
    case TerminationOutcome::Signalled:
        return fmt::format("Process {} was told to end", pid);
    case TerminationOutcome::Ending:
        return fmt::format("[DEBUG] Process {} was told to end before", pid);
    case TerminationOutcome::Gone:
        return fmt::format("[DEBUG] Process {} already terminated", pid);
    case TerminationOutcome::Changed:
        return fmt::format("[DEBUG] Process {} does not use its GPUs any more", pid);
    case TerminationOutcome::Protected:
        return fmt::format("[DEBUG] Process {} serves others and is left alone", pid);
    case TerminationOutcome::Unknown:
        break;
    }
    return fmt::format("[ERROR] Process {} is left alone, since the GPU driver does not answer",
                       pid);
}

bool Terminator::isProtected(const ObservedProcess& process) const {
    return isUntouchable(process) || process.isMpsServer;
}

bool Terminator::isUntouchable(const ObservedProcess& process) const {
    const Pid pid = process.facts.identity.pid;
    return pid <= 1 || pid == self_;
}

void Terminator::forgetExited() {
    std::erase_if(dying_, [](const auto& entry) { return entry.second->handle->hasExited(); });
}

bool Terminator::isBusy() {
    forgetExited();
    return samples_ > 0 || !dying_.empty();
}

bool Terminator::isDying(const ProcessIdentity& process) {
    forgetExited();
    return dying_.contains(process);
}

void Terminator::terminate(Judged judged, Answer answer) {
    if (isDying(judged.facts.identity)) {
        answer(TerminationOutcome::Ending);
        return;
    }
    std::shared_ptr<const ProcessHandle> handle;
    try {
        handle = processes_.hold(judged.facts.identity.pid);
    } catch (const Error&) {
        answer(TerminationOutcome::Gone);
        return;
    }
    auto victim = std::make_shared<Victim>(std::move(judged), std::move(handle));
    // Zero requires an observation that begins from now on. If the held process is still alive when
    // the observation arrives, its PID was not reused in between, so the data for the PID belong to
    // this process.
    ++samples_;
    observer_.observe(
        std::chrono::milliseconds{0},
        [this, alive = alive_, victim = std::move(victim), answer = std::move(answer)](
            const std::shared_ptr<const Observation>& observation, const std::string&) {
            if (!*alive)
                return;
            --samples_;
            if (observation)
                signal(victim, *observation, answer);
            else
                answer(TerminationOutcome::Unknown);
        });
}

void Terminator::signal(const std::shared_ptr<Victim>& victim, const Observation& observation,
                        const Answer& answer) {
    const Judged& judged = victim->judged;
    const ObservedProcess* process = findProcess(observation, judged.facts.identity.pid);
    const bool isAnother = process != nullptr && process->facts.identity != judged.facts.identity;
    if (isAnother || victim->handle->hasExited()) {
        answer(TerminationOutcome::Gone);
        return;
    }
    if (process == nullptr || !usesOneOf(*process, judged.devices) || !victim->isAsJudged()) {
        answer(TerminationOutcome::Changed);
        return;
    }
    if (judged.isRootsRequest ? isUntouchable(*process) : isProtected(*process)) {
        answer(TerminationOutcome::Protected);
        return;
    }
    if (isDying(judged.facts.identity)) { // another judgement of it was carried out in the meantime
        answer(TerminationOutcome::Ending);
        return;
    }
    if (!victim->handle->signal(TerminationSignal::Terminate)) {
        answer(TerminationOutcome::Gone);
        return;
    }
    std::vector<DeviceIndex> indices;
    for (const DeviceSample& device : observation.devices) {
        if (std::find(judged.devices.begin(), judged.devices.end(), device.facts.uuid) !=
            judged.devices.end())
            indices.push_back(device.facts.index);
    }
    events_.emit(ProcessTerminated{judged.facts.identity.pid, process->facts.command, judged.user,
                                   judged.environment, std::move(indices), judged.cause});
    killLater(victim);
    answer(TerminationOutcome::Signalled);
}

void Terminator::killLater(const std::shared_ptr<Victim>& victim) {
    const ProcessIdentity process = victim->judged.facts.identity;
    dying_[process] = victim;
    victim->timer = scheduler_.after(killAfter_(), [this, process] { kill(process); });
}

void Terminator::kill(const ProcessIdentity& process) {
    const auto found = dying_.find(process);
    if (found == dying_.end())
        return;
    const std::shared_ptr<Victim> victim = found->second;
    if (victim->isAsJudged())
        victim->handle->signal(
            TerminationSignal::Kill); // the entry stays until the process is gone
    else
        dying_.erase(found);
}

} // namespace genv::core
