// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/gpu_observer.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <utility>

namespace genv::service {

namespace {

// Returns MemTotal of /proc/meminfo, or 0 if it is not known.
core::Bytes memoryOfMachine() {
    struct sysinfo machine {};
    return ::sysinfo(&machine) == 0
               ? core::Bytes{std::uint64_t{machine.totalram} * machine.mem_unit}
               : core::Bytes{};
}

} // namespace

core::Observation takeObservation(core::Gpus& gpus, ObservedProcesses& processes,
                                  const core::Clock& clock,
                                  const std::optional<core::Bytes>& unifiedMemory) {
    core::Observation observation;
    observation.started = clock.bootNow();
    core::GpuSample sample = gpus.sample();
    observation.takenAt = clock.wallNow();
    observation.devices = std::move(sample.devices);
    for (core::DeviceSample& device : observation.devices) {
        if (device.hasUnifiedMemory)
            device.facts.totalMemory = unifiedMemory ? *unifiedMemory : memoryOfMachine();
    }
    observation.noDriver = std::move(sample.noDriver);
    observation.driverVersion = std::move(sample.driverVersion);
    observation.nodes = std::move(sample.nodes);
    ObservedProcesses::Uses uses;
    for (core::ProcessSample& use : sample.uses)
        uses[use.pid].push_back({std::move(use.device), use.usedMemory, use.utilizationPercent});
    observation.processes = processes.look(uses);
    return observation;
}

GpuObserver::GpuObserver(std::unique_ptr<core::Gpus> gpus, ProcAccess access,
                         const core::Clock& clock, core::Scheduler& scheduler, Worker::Post post)
    : gpus_(std::move(gpus)), processes_(std::move(access)), clock_(clock), scheduler_(scheduler),
      worker_("genvd-gpus", std::move(post)) {}

void GpuObserver::observe(std::chrono::milliseconds oldest, Answer answer) {
    const core::BootTime notBefore = clock_.bootNow() - oldest;
    if (last_ && last_->started >= notBefore) {
        scheduler_.soon(
            [observation = last_, answer = std::move(answer)] { answer(observation, {}); });
        return;
    }
    waiters_.push_back({notBefore, std::move(answer)});
    if (!underWay_)
        start();
}

void GpuObserver::start() {
    underWay_ = true;
    worker_.run<Result>(
        [&gpus = *gpus_, &processes = processes_, &clock = clock_,
         unifiedMemory = unifiedMemory_]() -> Result {
            const core::BootTime started = clock.bootNow();
            try {
                return {started,
                        std::make_shared<const core::Observation>(
                            takeObservation(gpus, processes, clock, unifiedMemory)),
                        {}};
            } catch (const std::exception& error) {
                return {started, nullptr, error.what()};
            }
        },
        [this](const Result& result) { finished(result); });
}

void GpuObserver::finished(const Result& result) {
    underWay_ = false;
    if (result.observation)
        last_ = result.observation;
    if (listener_)
        listener_(result.observation.get(), result.failure);
    // Callers that came during this observation may need one that started later.
    const auto served =
        std::stable_partition(waiters_.begin(), waiters_.end(), [&](const Waiter& waiter) {
            return waiter.notBefore > result.started;
        });
    std::vector<Waiter> answered(std::make_move_iterator(served),
                                 std::make_move_iterator(waiters_.end()));
    waiters_.erase(served, waiters_.end());
    if (!waiters_.empty())
        start();
    for (const Waiter& waiter : answered)
        waiter.answer(result.observation, result.failure);
}

} // namespace genv::service
