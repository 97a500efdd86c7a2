// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: observations. One worker thread queries the driver, and then reads the processes that
// the driver listed from /proc. The loop starts another observation only if the one in progress
// cannot serve a request. Unreadable processes delay an observation by one second at most and never
// cost it a device.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/gpus.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"
#include "service/loop/worker.hpp"
#include "service/processes/observed_processes.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::service {

/// Takes an observation now. A device that shares the machine's memory has `unifiedMemory` in
/// total, or if unset all memory of the machine. Blocks, so call it on the worker. Throws
/// core::GpuError.
core::Observation takeObservation(core::Gpus& gpus, ObservedProcesses& processes,
                                  const core::Clock& clock,
                                  const std::optional<core::Bytes>& unifiedMemory);

class GpuObserver : public core::Observer {
  public:
    /// Receives an observation, or null and the reason for the failure.
    using Listener = std::function<void(const core::Observation*, const std::string& failure)>;

    GpuObserver(std::unique_ptr<core::Gpus> gpus, ProcAccess access, const core::Clock& clock,
                core::Scheduler& scheduler, Worker::Post post);

    /// Sets the listener that receives every observation and every failure, before the callers that
    /// requested one.
    void onObservation(Listener listener) { listener_ = std::move(listener); }
    /// Sets the total memory of devices that share the machine's memory; unset: all of it. The next
    /// observation has it.
    void setUnifiedMemory(std::optional<core::Bytes> memory) { unifiedMemory_ = memory; }

    void observe(std::chrono::milliseconds oldest, Answer answer) override;
    [[nodiscard]] std::shared_ptr<const core::Observation> last() const override { return last_; }

  private:
    struct Waiter {
        core::BootTime notBefore;
        Answer answer;
    };
    struct Result {
        core::BootTime started;
        std::shared_ptr<const core::Observation> observation;
        std::string failure;
    };

    void start();
    void finished(const Result& result);

    std::unique_ptr<core::Gpus> gpus_;
    ObservedProcesses processes_; // used by the worker only
    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    Listener listener_;
    std::optional<core::Bytes> unifiedMemory_;
    std::shared_ptr<const core::Observation> last_;
    std::vector<Waiter> waiters_;
    bool underWay_ = false;
    Worker worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
