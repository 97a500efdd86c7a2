// SPDX-License-Identifier: LGPL-2.1-or-later
// A ledger whose environments linger, a driver in the hands of the test, and a queue.
#pragma once

#include "core/lingering.hpp"
#include "core/occupancy.hpp"
#include "tests/core/queue_fixture.hpp"

#include <string>
#include <vector>

namespace genv::tests {

class LingeringTest : public Queueing {
  protected:
    LingeringTest() {
        events.subscribe([this](const core::Event& event) {
            lingering.onEvent(event);
            occupancy.onEvent(event);
        });
    }

    // As the service does: the ledger hears of it first, then those who asked.
    void sample(core::Observation observation) {
        scheduler.turn();
        observation.takenAt = clock.wallNow();
        observer.keep(observation);
        ledger.observed(observation);
        lingering.observed(observation);
        observer.answerKept();
        scheduler.turn();
    }
    static core::Observation sampleOf(core::DeviceIndex count,
                                      std::vector<core::ComputeProcess> computing) {
        core::Observation observation = gpus(count);
        observation.processes = std::move(computing);
        return observation;
    }
    // A living process on these devices that says it belongs to an environment.
    core::ComputeProcess worker(core::Pid pid, core::Uid uid,
                                const std::vector<core::DeviceUuid>& devices,
                                const std::string& hint) {
        processes.add(pid, uid);
        core::ComputeProcess process = computeProcess(pid, uid, devices);
        if (!hint.empty())
            process.environmentHint = {hint, std::nullopt};
        return process;
    }
    // An environment with devices whose root process is named by its id.
    void holding(const std::string& id, core::Uid uid, std::vector<core::DeviceIndex> devices) {
        activate(id, uid);
        attachIndices(id, std::move(devices));
    }
    // A living child of a process on GPU 0; it does not say where it belongs.
    core::ComputeProcess childOf(core::Pid parent, core::Pid pid) {
        core::ComputeProcess child = worker(pid, alice, {"GPU-0"}, "");
        child.ancestors = {{parent, 7}};
        return child;
    }
    // The machine gets `count` GPUs and environment 10, which lingers on GPU 0 for its process 500.
    void lingerOnGpu0(core::DeviceIndex count) {
        haveGpus(count);
        holding("10", alice, {0});
        const core::ComputeProcess left = worker(500, alice, {"GPU-0"}, "10");
        processes.exit(10);
        sample(sampleOf(count, {left}));
        ASSERT_TRUE(isLingering("10"));
        told.clear();
    }
    [[nodiscard]] bool isLingering(const std::string& id) const {
        const core::Environment* environment = ledger.find(id);
        return environment != nullptr && environment->isLingering();
    }
    [[nodiscard]] std::vector<core::Pid> pidsOf(const std::string& id) const {
        std::vector<core::Pid> pids;
        for (const core::RootProcess& process : ledger.get(id).processes)
            pids.push_back(process.identity.pid);
        return pids;
    }

    bool allowed = true;
    FakeObserver observer;
    core::Lingering lingering{ledger,    observer, processes,
                              scheduler, events,   [this] { return allowed; }};
    core::Occupancy occupancy{ledger, observer, scheduler};
};

} // namespace genv::tests
