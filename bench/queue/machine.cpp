// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/queue/machine.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <utility>

namespace genv::bench {

namespace {

using core::CheckpointState;
using core::ParkingCall;
using std::chrono::milliseconds;

constexpr core::Bytes memoryOfGpu{80ULL << 30U};
constexpr core::Bytes memoryOfHost{
    8ULL << 40U}; ///< more than any trace parks, since its use is measured
constexpr milliseconds timeOfSample{20};
constexpr std::uint64_t startTime = 7; ///< of all processes

class Pin : public core::ProcessPin {
  public:
    Pin(core::ProcessIdentity identity, core::ProcessUids uids, std::shared_ptr<bool> hasExited)
        : identity_(identity), uids_(uids), hasExited_(std::move(hasExited)) {}
    [[nodiscard]] bool hasExited() const override { return *hasExited_; }
    [[nodiscard]] bool hasUids(const core::ProcessUids& uids) const override {
        return uids == uids_;
    }
    bool signal(core::TerminationSignal /*signal*/) const override { return !*hasExited_; }
    [[nodiscard]] const core::ProcessIdentity& identity() const override { return identity_; }

  private:
    core::ProcessIdentity identity_;
    core::ProcessUids uids_;
    std::shared_ptr<bool> hasExited_;
};

milliseconds timeFor(core::Bytes bytes, std::uint64_t speed) {
    return milliseconds{bytes.count * 1000 / speed} + timeOfOtherCalls;
}

core::ParkingReply failed(core::ParkingFault fault, std::optional<CheckpointState> state = {}) {
    return {state, core::ParkingFailure{fault, 0}};
}

[[noreturn]] void unexpected() {
    core::fail(core::ErrorCode::NotSupported, "the made-up machine does not know this");
}

} // namespace

core::DeviceUuid uuidOf(core::DeviceIndex index) {
    return "GPU-" + std::to_string(index);
}

Machine::Machine(std::uint32_t gpus, JumpingClock& clock, JumpingScheduler& scheduler)
    : gpus_(gpus), clock_(clock), scheduler_(scheduler) {}

std::shared_ptr<const core::ProcessPin> Machine::start(core::Pid pid, core::Uid uid) {
    Process& shell = processes_[pid];
    shell.facts = {{pid, startTime}, {uid, uid, uid, uid}, 1, "sh"};
    shell.hasExited = std::make_shared<bool>(false);
    return pinOf(shell);
}

std::shared_ptr<const core::ProcessPin> Machine::pinOf(const Process& process) const {
    return std::make_shared<Pin>(process.facts.identity, process.facts.uids, process.hasExited);
}

void Machine::run(Job job) {
    const core::Pid shell = job.shell;
    core::Pid pid = shell;
    for (const core::DeviceUuid& device : job.devices) {
        Process& process = processes_[++pid];
        process.facts = {{pid, startTime}, {job.uid, job.uid, job.uid, job.uid}, shell, "train"};
        process.hasExited = std::make_shared<bool>(false);
        process.shell = shell;
        process.device = device;
        process.memory = job.memory;
    }
    Running& running = jobs_[shell];
    running.left = job.duration;
    running.job = std::move(job);
    settle(shell);
}

// Lets a job run on if all its processes may compute, or makes it stand still.
void Machine::settle(core::Pid shell) {
    Running& running = jobs_.at(shell);
    const bool mayRun = std::ranges::all_of(processes_, [&](const auto& entry) {
        return entry.second.shell != shell || entry.second.state == CheckpointState::Running;
    });
    if (mayRun && !running.since) {
        running.since = clock_.bootNow();
        running.end = scheduler_.after(running.left, [this, shell] { end(shell); });
    } else if (!mayRun && running.since) {
        running.left -= std::chrono::duration_cast<milliseconds>(clock_.bootNow() - *running.since);
        running.since.reset();
        running.end.reset();
    }
}

void Machine::end(core::Pid shell) {
    const auto running = jobs_.extract(shell);
    for (std::size_t i = running.mapped().job.devices.size(); i > 0; --i)
        exit(shell + static_cast<core::Pid>(i));
    exit(shell);
    running.mapped().job.ended();
}

void Machine::exit(core::Pid pid) {
    const auto process = processes_.extract(pid);
    *process.mapped().hasExited = true;
    if (exited_)
        exited_(process.mapped().facts.identity);
}

void Machine::later(milliseconds delay, std::function<void()> function) {
    const std::uint64_t number = ++lastTimer_;
    timers_[number] = scheduler_.after(delay, [this, number, function = std::move(function)] {
        const auto own = timers_.extract(number);
        function();
    });
}

core::Bytes Machine::freeOn(const core::DeviceUuid& device) const {
    core::Bytes free = memoryOfGpu;
    for (const auto& [pid, process] : processes_) {
        if (process.device == device && process.state != CheckpointState::Checkpointed)
            free = free - process.memory;
    }
    return free;
}

core::Observation Machine::sample() const {
    core::Observation seen;
    seen.started = clock_.bootNow();
    seen.takenAt = clock_.wallNow();
    for (core::DeviceIndex index = 0; index < gpus_; ++index) {
        core::DeviceSample device{
            {uuidOf(index), index, core::DeviceKind::Gpu, "GPU", memoryOfGpu}, {}, {}};
        device.memory.free = freeOn(device.facts.uuid);
        device.reading.usedMemory = memoryOfGpu - *device.memory.free;
        device.persistence = true;
        seen.devices.push_back(std::move(device));
    }
    for (const auto& [pid, process] : processes_) {
        if (process.shell == 0 || process.state == CheckpointState::Checkpointed)
            continue;
        core::ObservedProcess computing;
        computing.facts = process.facts;
        computing.ancestors = {{process.shell, startTime}};
        computing.uses = {{process.device, process.memory}};
        seen.processes.push_back(std::move(computing));
    }
    return seen;
}

void Machine::observe(milliseconds /*oldest*/, Answer answer) {
    later(timeOfSample, [this, answer = std::move(answer)] {
        const auto seen = std::make_shared<const core::Observation>(sample());
        if (sampled_)
            sampled_(*seen);
        answer(seen, "");
    });
}

std::shared_ptr<const core::Observation> Machine::last() const {
    return std::make_shared<const core::Observation>(sample());
}

void Machine::call(ParkingCall call, const core::ParkingTarget& target,
                   milliseconds /*lockTimeout*/,
                   std::function<void(const core::ParkingReply&)> answer) {
    const core::Pid pid = target.process.pid;
    const auto process = processes_.find(pid);
    const core::Bytes memory =
        process == processes_.end() ? core::Bytes{0} : process->second.memory;
    const milliseconds time = call == ParkingCall::Checkpoint ? timeFor(memory, checkpointSpeed)
                              : call == ParkingCall::Restore  ? timeFor(memory, restoreSpeed)
                                                              : timeOfOtherCalls;
    later(time, [this, call, pid, answer = std::move(answer)] { answer(carryOut(call, pid)); });
}

core::ParkingReply Machine::carryOut(ParkingCall call, core::Pid pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end())
        return failed(core::ParkingFault::Gone);
    Process& process = found->second;
    switch (call) {
    case ParkingCall::Lock:
        return move(process, CheckpointState::Running, CheckpointState::Locked);
    case ParkingCall::Unlock:
        return move(process, CheckpointState::Locked, CheckpointState::Running);
    case ParkingCall::Checkpoint:
        return move(process, CheckpointState::Locked, CheckpointState::Checkpointed);
    case ParkingCall::Restore:
        // The real driver loses a process that it restores without room. The core never lets it.
        if (process.state == CheckpointState::Checkpointed &&
            freeOn(process.device) < process.memory)
            core::fail(core::ErrorCode::Internal, "process {} was restored without room", pid);
        return move(process, CheckpointState::Checkpointed, CheckpointState::Locked);
    case ParkingCall::State:
        break;
    }
    return {process.state, std::nullopt};
}

core::ParkingReply Machine::move(Process& process, CheckpointState from, CheckpointState to) {
    if (process.state != from)
        return failed(core::ParkingFault::IllegalState, process.state);
    process.state = to;
    if (to == CheckpointState::Checkpointed) {
        moved_ = moved_ + process.memory;
        parked_ = parked_ + process.memory;
        mostParked_ = std::max(mostParked_, parked_);
    } else if (from == CheckpointState::Checkpointed) {
        parked_ = parked_ - process.memory;
    }
    settle(process.shell);
    return {to, std::nullopt};
}

void Machine::capability(std::function<void(const core::ParkingCapability&)> answer) {
    scheduler_.soon([answer = std::move(answer)] { answer({true, true, "12.8"}); });
}

void Machine::read(const std::vector<core::ProcessIdentity>& /*processes*/,
                   std::function<void(const core::HostMemoryReading&)> answer) {
    scheduler_.soon([this, answer = std::move(answer)] {
        answer({"", memoryOfHost, memoryOfHost - parked_});
    });
}

void Machine::pin(core::Pid pid, core::Uid /*requester*/, PinAnswer answer) {
    scheduler_.soon([this, pid, answer = std::move(answer)] {
        const auto process = processes_.find(pid);
        if (process == processes_.end())
            answer(core::Error(core::ErrorCode::NoSuchProcess, "it has ended"));
        else
            answer(core::PinnedProcess{pinOf(process->second), process->second.facts});
    });
}

std::shared_ptr<const core::ProcessHandle> Machine::hold(core::Pid /*pid*/) {
    unexpected();
}
core::Pid Machine::pidOf(int /*pidfd*/) const {
    unexpected();
}
void Machine::pinDescriptor(int /*pidfd*/, core::Uid /*requester*/, PinAnswer /*answer*/) {
    unexpected();
}
void Machine::usesSamePids(core::Pid /*pid*/, core::Uid /*requester*/, NumbersAnswer /*answer*/) {
    unexpected();
}
std::vector<std::shared_ptr<const core::ProcessPin>>
Machine::findAgain(const std::vector<core::ProcessIdentity>& /*processes*/) {
    unexpected();
}
std::optional<core::ProcessIdentity> Machine::pinned(core::Pid /*pid*/) const {
    unexpected();
}
void Machine::lineage(core::Pid /*pid*/, core::Uid /*requester*/, LineageAnswer /*answer*/) {
    unexpected();
}
void Machine::slurmCgroup(core::Pid /*pid*/, core::Uid /*requester*/, CgroupAnswer /*answer*/) {
    unexpected();
}
void Machine::loginUser(core::Pid /*pid*/, core::Uid /*requester*/, LoginAnswer /*answer*/) {
    unexpected();
}

} // namespace genv::bench
