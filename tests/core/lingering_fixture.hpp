// SPDX-License-Identifier: LGPL-2.1-or-later
// The fixture has a ledger whose environments linger, a driver that the test controls, and a queue.
#pragma once

#include "core/devices/occupancy.hpp"
#include "core/environments/lingering.hpp"
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

    // Passes a sample first to the ledger, then to the callers that requested it, as the service
    // does.
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
                                      std::vector<core::ObservedProcess> computing) {
        core::Observation observation = gpus(count);
        observation.processes = std::move(computing);
        return observation;
    }
    // Returns a living process on these devices that claims an environment.
    core::ObservedProcess worker(core::Pid pid, core::Uid uid,
                                 const std::vector<core::DeviceUuid>& devices,
                                 const std::string& hint) {
        processes.add(pid, uid);
        core::ObservedProcess process = computeProcess(pid, uid, devices);
        if (!hint.empty())
            process.environmentHint = {hint, std::nullopt};
        return process;
    }
    // Makes an environment with devices. Its id is the PID of its root process.
    void holding(const std::string& id, core::Uid uid, std::vector<core::DeviceIndex> devices) {
        activate(id, uid);
        attachIndices(id, std::move(devices));
    }
    // Returns a living child of a process. It uses GPU 0 and does not claim an environment.
    core::ObservedProcess childOf(core::Pid parent, core::Pid pid) {
        core::ObservedProcess child = worker(pid, alice, {"GPU-0"}, "");
        child.ancestors = {{parent, 7}};
        return child;
    }
    // Makes a machine with `count` GPUs and environment 10, which lingers on GPU 0 for process 500.
    void lingerOnGpu0(core::DeviceIndex count) {
        haveGpus(count);
        holding("10", alice, {0});
        const core::ObservedProcess remaining = worker(500, alice, {"GPU-0"}, "10");
        processes.exit(10);
        sample(sampleOf(count, {remaining}));
        ASSERT_TRUE(isLingering("10"));
        emitted.clear();
    }
    [[nodiscard]] bool isLingering(const std::string& id) const {
        const core::EnvironmentRecord* environment = ledger.find(id);
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
