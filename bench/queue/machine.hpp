// SPDX-License-Identifier: LGPL-2.1-or-later
// A made-up machine behind core's ports: GPUs, the jobs on them, and a driver that parks processes
// as fast as one did on an H100. A job has a process for each GPU, and its time stands still unless
// all of them may compute.
#pragma once

#include "bench/queue/jumping.hpp"
#include "core/ports/host_memory.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/parker.hpp"
#include "core/ports/processes.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::bench {

/// What a driver was measured to do (data/doc/hardware.md): first touch of host memory makes the
/// way there the slower one.
inline constexpr std::chrono::milliseconds timeOfOtherCalls{10};
inline constexpr std::uint64_t checkpointSpeed = 2ULL << 30U; ///< bytes in a second
inline constexpr std::uint64_t restoreSpeed = 6ULL << 30U;

/// A job, which begins to run with the call of run().
struct Job {
    core::Pid shell = 0; ///< the registered process of the environment
    core::Uid uid = 0;
    std::vector<core::DeviceUuid> devices;
    core::Bytes memory; ///< on each of them
    std::chrono::milliseconds duration{0};
    std::function<void()> ended; ///< called when it has run for that time
};

class Machine : public core::Observer,
                public core::Processes,
                public core::Parker,
                public core::HostMemory {
  public:
    Machine(std::uint32_t gpus, JumpingClock& clock, JumpingScheduler& scheduler);

    /// Adds a process, such as a shell, that uses no GPU, and pins it.
    std::shared_ptr<const core::ProcessPin> start(core::Pid pid, core::Uid uid);
    /// The PIDs after the shell's, one for each device, must be unused.
    void run(Job job);
    /// Sets a listener for every sample that is taken.
    void onSample(std::function<void(const core::Observation&)> listener) {
        sampled_ = std::move(listener);
    }
    [[nodiscard]] core::Observation sample() const;

    [[nodiscard]] core::Bytes parked() const { return parked_; } ///< now in host memory
    [[nodiscard]] core::Bytes mostParked() const { return mostParked_; }
    [[nodiscard]] core::Bytes moved() const { return moved_; } ///< to host memory, in all

    void observe(std::chrono::milliseconds oldest, Answer answer) override;
    [[nodiscard]] std::shared_ptr<const core::Observation> last() const override;

    void call(core::ParkingCall call, const core::ParkingTarget& target,
              std::chrono::milliseconds lockTimeout,
              std::function<void(const core::ParkingReply&)> answer) override;
    void capability(std::function<void(const core::ParkingCapability&)> answer) override;

    void read(const std::vector<core::ProcessIdentity>& processes,
              std::function<void(const core::HostMemoryReading&)> answer) override;

    void pin(core::Pid pid, core::Uid requester, PinAnswer answer) override;
    void onExit(std::function<void(const core::ProcessIdentity&)> listener) override {
        exited_ = std::move(listener);
    }
    void noticeExits() override {}
    // Parking asks for none of these.
    std::shared_ptr<const core::ProcessHandle> hold(core::Pid pid) override;
    [[nodiscard]] core::Pid pidOf(int pidfd) const override;
    void pinDescriptor(int pidfd, core::Uid requester, PinAnswer answer) override;
    void usesSamePids(core::Pid pid, core::Uid requester, NumbersAnswer answer) override;
    std::vector<std::shared_ptr<const core::ProcessPin>>
    findAgain(const std::vector<core::ProcessIdentity>& processes) override;
    [[nodiscard]] std::optional<core::ProcessIdentity> pinned(core::Pid pid) const override;
    void lineage(core::Pid pid, core::Uid requester, LineageAnswer answer) override;
    void slurmCgroup(core::Pid pid, core::Uid requester, CgroupAnswer answer) override;
    void loginUser(core::Pid pid, core::Uid requester, LoginAnswer answer) override;

  private:
    struct Running {
        Job job;
        std::chrono::milliseconds left{0};   ///< at `since`, or while it stands still
        std::optional<core::BootTime> since; ///< unset: it stands still
        std::unique_ptr<core::Scheduled> end;
    };
    struct Process {
        core::ProcessFacts facts;
        std::shared_ptr<bool> hasExited;
        core::Pid shell = 0; ///< of its job; 0: it is a shell
        core::DeviceUuid device;
        core::Bytes memory;
        core::CheckpointState state = core::CheckpointState::Running;
    };

    [[nodiscard]] std::shared_ptr<const core::ProcessPin> pinOf(const Process& process) const;
    [[nodiscard]] core::ParkingReply carryOut(core::ParkingCall call, core::Pid pid);
    [[nodiscard]] core::ParkingReply move(Process& process, core::CheckpointState from,
                                          core::CheckpointState to);
    [[nodiscard]] core::Bytes freeOn(const core::DeviceUuid& device) const;
    void settle(core::Pid shell);
    void end(core::Pid shell);
    void exit(core::Pid pid);
    void later(std::chrono::milliseconds delay, std::function<void()> function);

    const std::uint32_t gpus_;
    JumpingClock& clock_;
    JumpingScheduler& scheduler_;
    std::map<core::Pid, Process> processes_;
    std::map<core::Pid, Running> jobs_; ///< by their shells
    std::map<std::uint64_t, std::unique_ptr<core::Scheduled>> timers_;
    std::uint64_t lastTimer_ = 0;
    std::function<void(const core::Observation&)> sampled_;
    std::function<void(const core::ProcessIdentity&)> exited_;
    core::Bytes parked_;
    core::Bytes mostParked_;
    core::Bytes moved_;
};

/// Returns the UUID of a GPU of the machine.
core::DeviceUuid uuidOf(core::DeviceIndex index);

} // namespace genv::bench
