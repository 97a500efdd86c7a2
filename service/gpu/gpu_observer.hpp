// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: observations. One worker thread asks the driver and then /proc about the processes it
// named; the loop asks for the next observation only when the one under way cannot serve. Processes
// that cannot be read take a second of it at most, and no device.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/gpus.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"
#include "service/loop/worker.hpp"
#include "service/processes/observed_processes.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace genv::service {

/// Takes an observation now. Blocks; for the worker. Throws core::GpuError.
core::Observation takeObservation(core::Gpus& gpus, ObservedProcesses& processes,
                                  const core::Clock& clock);

class GpuObserver : public core::Observer {
  public:
    /// An observation, or null and why there is none.
    using Listener = std::function<void(const core::Observation*, const std::string& failure)>;

    GpuObserver(std::unique_ptr<core::Gpus> gpus, ProcAccess access, const core::Clock& clock,
                core::Scheduler& scheduler, Worker::Post post);

    /// Who hears of every observation and every failure, before those who asked.
    void onObservation(Listener listener) { listener_ = std::move(listener); }

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
    ObservedProcesses processes_; // the worker's alone
    const core::Clock& clock_;
    core::Scheduler& scheduler_;
    Listener listener_;
    std::shared_ptr<const core::Observation> last_;
    std::vector<Waiter> waiters_;
    bool underWay_ = false;
    Worker worker_; // last: it uses the others until it is gone
};

} // namespace genv::service
