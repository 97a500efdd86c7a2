// SPDX-License-Identifier: LGPL-2.1-or-later
// The fixture has a ledger with a queue, a model of the driver and of the machine's memory, and an
// engine that parks environments. The service can be killed at any moment: the engine and the
// ledger are then made again from the documents.
#pragma once

#include "core/environments/lingering.hpp"
#include "core/ledger/recovery.hpp"
#include "core/loans/takings.hpp"
#include "core/parking/parkings.hpp"
#include "tests/core/queue_fixture.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

/// The driver with its processes. A call is answered when the test says so; what it does to the
/// process happens at that moment, or at carryOut().
class FakeDriver : public core::Parker {
  public:
    struct Process {
        core::ProcessIdentity identity;
        core::Uid uid = 0;
        std::string environment;
        std::vector<core::ParkedUse> uses;
        core::CheckpointState state = core::CheckpointState::Running;
        bool isLost = false;
        int restores = 0;
        int overlaps = 0; ///< calls that were made while another one was under way
    };
    struct Pending {
        core::ParkingCall call;
        core::Pid pid;
        std::function<void(const core::ParkingReply&)> answer;
        bool isDone = false; ///< carried out, and not yet answered
        core::ParkingReply reply = {};
    };

    std::map<core::Pid, Process> living;
    std::deque<Pending> pending;
    std::map<std::pair<core::Pid, core::ParkingCall>, core::ParkingFailure> faults; ///< once each
    core::ParkingCapability can{true, true, "12.8"};
    std::set<core::DeviceUuid> refused;              ///< isolation refuses these to everybody
    std::map<core::DeviceUuid, core::Bytes> foreign; ///< memory of others on a device
    core::Bytes capacity = gigabytes(16);

    void call(core::ParkingCall call, const core::ParkingTarget& target,
              std::chrono::milliseconds /*lockTimeout*/,
              std::function<void(const core::ParkingReply&)> answer) override {
        pending.push_back({call, target.process.pid, std::move(answer)});
        if (const auto process = living.find(target.process.pid); process != living.end()) {
            const auto same = std::ranges::count(pending, target.process.pid, &Pending::pid);
            process->second.overlaps += same > 1 ? 1 : 0;
        }
    }
    void capability(std::function<void(const core::ParkingCapability&)> answer) override {
        capabilities.push_back(std::move(answer));
    }
    std::vector<std::function<void(const core::ParkingCapability&)>> capabilities;

    /// Returns the memory of the processes that are not parked.
    [[nodiscard]] core::Bytes usedOn(const core::DeviceUuid& device) const {
        core::Bytes used;
        for (const auto& [pid, process] : living) {
            for (const core::ParkedUse& use : process.uses) {
                if (use.device == device && process.state != core::CheckpointState::Checkpointed)
                    used = used + use.bytes;
            }
        }
        return used;
    }
    [[nodiscard]] core::Bytes freeOn(const core::DeviceUuid& device) const {
        const core::Bytes used =
            usedOn(device) + (foreign.contains(device) ? foreign.at(device) : core::Bytes{0});
        return used < capacity ? capacity - used : core::Bytes{0};
    }
    [[nodiscard]] std::vector<core::Pid> lockedOnes() const {
        std::vector<core::Pid> pids;
        for (const auto& [pid, process] : living) {
            if (process.state == core::CheckpointState::Locked)
                pids.push_back(pid);
        }
        return pids;
    }

    /// Carries a call out, without an answer yet.
    void carryOut(Pending& call) {
        if (std::exchange(call.isDone, true))
            return;
        const auto found = living.find(call.pid);
        if (found == living.end()) {
            call.reply = failed(core::ParkingFault::Gone, std::nullopt);
            return;
        }
        Process& process = found->second;
        const auto fault = faults.extract({call.pid, call.call});
        if (!fault.empty()) {
            call.reply = {process.state, fault.mapped()};
            return;
        }
        call.reply = process.isLost ? failed(core::ParkingFault::NotPermitted, std::nullopt)
                                    : done(process, call.call);
    }
    /// Answers the first pending call, or the one at an index.
    void answerOne(std::size_t index = 0) {
        carryOut(pending.at(index));
        const Pending call = std::move(pending.at(index));
        pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(index));
        call.answer(call.reply);
    }

  private:
    static core::ParkingReply failed(core::ParkingFault fault,
                                     std::optional<core::CheckpointState> state, int code = 0) {
        return {state, core::ParkingFailure{fault, code}};
    }

    core::ParkingReply done(Process& process, core::ParkingCall call) {
        using core::CheckpointState;
        using core::ParkingCall;
        const auto go = [&](CheckpointState from, CheckpointState to) -> core::ParkingReply {
            if (process.state != from)
                return failed(core::ParkingFault::IllegalState, process.state, 401);
            process.state = to;
            return {to, std::nullopt};
        };
        switch (call) {
        case ParkingCall::Lock:
            return go(CheckpointState::Running, CheckpointState::Locked);
        case ParkingCall::Checkpoint:
            return go(CheckpointState::Locked, CheckpointState::Checkpointed);
        case ParkingCall::Unlock:
            return go(CheckpointState::Locked, CheckpointState::Running);
        case ParkingCall::Restore:
            return restore(process);
        case ParkingCall::State:
            break;
        }
        return {process.state, std::nullopt};
    }

    core::ParkingReply restore(Process& process) {
        ++process.restores;
        if (process.state != core::CheckpointState::Checkpointed)
            return failed(core::ParkingFault::IllegalState, process.state, 401);
        for (const core::ParkedUse& use : process.uses) {
            if (refused.contains(use.device))
                return failed(core::ParkingFault::NotSupported, process.state, 801);
            if (freeOn(use.device) < use.bytes) {
                process.isLost = true;
                return failed(core::ParkingFault::OutOfMemory, std::nullopt, 2);
            }
        }
        process.state = core::CheckpointState::Locked;
        return {process.state, std::nullopt};
    }
};

class FakeHostMemory : public core::HostMemory {
  public:
    core::HostMemoryReading reading{"", gigabytes(100), gigabytes(90)};
    std::map<core::Pid, std::vector<core::LimitedGroup>> groups;

    void read(const std::vector<core::ProcessIdentity>& processes,
              std::function<void(const core::HostMemoryReading&)> answer) override {
        waiting.emplace_back(processes, std::move(answer));
    }
    void answer() {
        for (const auto& [processes, each] : std::exchange(waiting, {})) {
            core::HostMemoryReading now = reading;
            for (const core::ProcessIdentity& process : processes) {
                if (groups.contains(process.pid))
                    now.groups[process] = groups.at(process.pid);
            }
            each(now);
        }
    }
    std::vector<std::pair<std::vector<core::ProcessIdentity>,
                          std::function<void(const core::HostMemoryReading&)>>>
        waiting;
};

/// The settings of the administrator.
struct ParkingTerms {
    core::ParkingSettings settings;
    std::map<core::Uid, core::Limits> limits; ///< others have none
    core::OrderRules order;
    bool isIsolated = true;
};

/// What a kill of the service destroys.
struct ParkingService {
    ParkingService(FakeStore& store, FakeClock& clock, FakeProcesses& processes, FakeDriver& driver,
                   FakeHostMemory& hostMemory, const ParkingTerms& terms)
        : ledger(store, clock, events),
          queue(
              ledger, clock, scheduler, events, log,
              [&terms](const core::UserInfo& user) {
                  const auto limits = terms.limits.find(user.uid);
                  return limits == terms.limits.end() ? core::Limits{} : limits->second;
              },
              [] { return core::WaitingTimes{}; }, {[&terms] { return terms.order; }, {}, nullptr}),
          lingering(ledger, observer, processes, scheduler, events, [] { return true; }),
          parkings(ledger, {observer, processes, driver, hostMemory}, clock, scheduler, events,
                   {[&terms]() -> const core::ParkingSettings& { return terms.settings; },
                    [] { return std::chrono::seconds{30}; },
                    [] { return std::chrono::seconds{10}; }}),
          takings(ledger, parkings, clock, scheduler, events, log,
                  {[&terms]() -> const core::ParkingSettings& { return terms.settings; },
                   [] { return std::chrono::seconds{30}; }, [] { return std::chrono::seconds{10}; },
                   [&terms] { return terms.isIsolated; }}) {
        queue.takeBy(takings);
        events.subscribe([this](const core::Event& event) {
            emitted.push_back(event);
            lingering.onEvent(event);
            queue.onEvent(event);
            parkings.onEvent(event);
            takings.onEvent(event);
        });
    }

    core::EventHub events;
    FakeScheduler scheduler;
    SilentLog log;
    FakeObserver observer;
    core::Ledger ledger;
    core::Queue queue;
    core::Lingering lingering;
    core::Parkings parkings;
    core::Takings takings;
    std::vector<core::Event> emitted;
};

class ParkingTest : public ::testing::Test {
  protected:
    ParkingTest() { begin(); }

    void begin() {
        service.emplace(store, clock, processes, driver, hostMemory, terms);
        processes.onExit([this](const core::ProcessIdentity& process) {
            service->ledger.processExited(process);
        });
        core::recover(service->ledger, store, processes, clock.bootNow());
        service->ledger.observed(sample());
        service->queue.expectClients();
        service->lingering.start();
        service->parkings.start();
        service->takings.start();
        service->emitted.clear();
    }
    /// Kills the service and starts it again. `areCarriedOut`: the calls under way still are,
    /// otherwise they are lost with their helpers.
    void kill(bool areCarriedOut = true) {
        std::deque<FakeDriver::Pending> calls = std::move(driver.pending);
        driver.pending.clear();
        driver.capabilities.clear();
        hostMemory.waiting.clear();
        service.reset();
        if (areCarriedOut)
            std::ranges::for_each(calls, [this](auto& call) { driver.carryOut(call); });
        begin();
    }

    [[nodiscard]] core::Ledger& ledger() { return service->ledger; }
    [[nodiscard]] const core::EnvironmentRecord& environment(const std::string& id = "10") {
        return service->ledger.get(id);
    }

    /// Returns the sample that the driver would report now.
    [[nodiscard]] core::Observation sample() const {
        core::Observation observation = gpus(count);
        observation.started = clock.bootNow();
        observation.takenAt = clock.wallNow();
        for (core::DeviceSample& device : observation.devices) {
            device.memory.free = driver.freeOn(device.facts.uuid);
            device.persistence = persistence;
            device.reading.usedMemory = driver.usedOn(device.facts.uuid);
        }
        std::erase_if(observation.devices, [this](const core::DeviceSample& device) {
            return missing.contains(device.facts.uuid);
        });
        if (isReversed) {
            std::ranges::reverse(observation.devices);
            for (core::DeviceIndex index = 0; core::DeviceSample & device : observation.devices)
                device.facts.index = index++;
        }
        for (const auto& [pid, process] : driver.living) {
            if (process.state == core::CheckpointState::Checkpointed)
                continue;
            std::vector<core::DeviceUuid> devices;
            for (const core::ParkedUse& use : process.uses)
                devices.push_back(use.device);
            core::ObservedProcess computing = computeProcess(pid, process.uid, devices);
            for (std::size_t i = 0; i < computing.uses.size(); ++i)
                computing.uses[i].usedMemory = process.uses[i].bytes;
            computing.environmentHint = {process.environment, std::nullopt};
            observation.processes.push_back(std::move(computing));
        }
        return observation;
    }

    /// Starts an environment, whose id is the PID of its shell, on these GPUs.
    void holding(const std::string& id, core::Uid uid,
                 const std::vector<core::DeviceIndex>& devices) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        processes.add(pid, uid);
        ledger().activate({id,
                           uid,
                           "user" + std::to_string(uid),
                           {},
                           {core::adopt(processes.pin(pid), uid, uid)},
                           {}},
                          std::nullopt, uid);
        const core::AttachRequest request{core::IndicesWanted{devices}, {}, {}, false};
        ledger().attach(id, core::place(request, ledger().devices(), &environment(id)), uid);
    }
    /// Starts a process that uses a GPU.
    void computing(core::Pid pid, const std::string& id, core::DeviceIndex device,
                   core::Bytes bytes = gigabytes(8)) {
        const core::Uid uid = environment(id).uid;
        processes.add(pid, uid);
        driver.living[pid] = {{pid, 7}, uid, id, {{"GPU-" + std::to_string(device), bytes}}};
    }
    void end(core::Pid pid) {
        driver.living.erase(pid);
        processes.exit(pid);
    }

    /// Answers everything that is asked except for the driver's calls, until nothing is asked.
    void answerQuestions() {
        for (bool isAsked = true; isAsked;) {
            service->scheduler.turn();
            isAsked = false;
            for (const auto& each : std::exchange(driver.capabilities, {})) {
                isAsked = true;
                each(driver.can);
            }
            if (!service->observer.waiting.empty()) {
                isAsked = true;
                clock.pass(std::chrono::milliseconds{1});
                const core::Observation now = sample();
                service->observer.keep(now);
                ledger().observed(now);
                service->lingering.observed(now);
                service->observer.answerKept();
            }
            if (!hostMemory.waiting.empty()) {
                isAsked = true;
                hostMemory.answer();
            }
            clock.pass(std::chrono::milliseconds{1});
        }
    }
    /// Answers everything, also the driver's calls, until nothing is left to do now.
    void settle() {
        answerQuestions();
        while (!driver.pending.empty()) {
            driver.answerOne();
            answerQuestions();
        }
    }
    void pass(std::chrono::milliseconds time) {
        clock.pass(time);
        service->scheduler.pass(time);
        settle();
    }

    /// Asks to park. The outcome is in `parked`.
    void park(const std::string& id = "10") {
        parked.reset();
        service->parkings.park(id, environment(id).uid, [this](const auto& refusal) {
            parked = refusal ? std::string(refusal->what()) : std::string();
        });
    }
    /// Asks for the devices again, without waiting.
    void resume(const std::string& id = "10") {
        const core::EnvironmentRecord& asking = environment(id);
        const core::Plan plan =
            service->queue.place(core::requestToResume(*asking.parking), &asking);
        ledger().resume(id, plan, asking.uid);
    }
    /// Parks environment 10 with process 500 on GPU 0.
    void haveParked() {
        holding("10", alice, {0});
        computing(500, "10", 0);
        park();
        settle();
        ASSERT_TRUE(environment().isAt(core::ParkingStep::Parked)) << parked.value_or("no answer");
        service->emitted.clear();
    }

    [[nodiscard]] core::CheckpointState stateOf(core::Pid pid) const {
        return driver.living.at(pid).state;
    }
    template <typename Kind>
    std::vector<Kind> emittedOf() const {
        std::vector<Kind> result;
        for (const core::Event& event : service->emitted) {
            if (const auto* specific = std::get_if<Kind>(&event))
                result.push_back(*specific);
        }
        return result;
    }

    core::DeviceIndex count = 2;
    std::optional<bool> persistence = true;
    std::set<core::DeviceUuid> missing; ///< devices that the driver does not report
    bool isReversed = false;            ///< it reports them in the opposite order
    FakeClock clock;
    FakeStore store;
    FakeProcesses processes;
    FakeDriver driver;
    FakeHostMemory hostMemory;
    ParkingTerms terms;
    core::ParkingSettings& settings = terms.settings;
    std::optional<ParkingService> service;
    std::optional<std::string> parked; ///< unset: no answer yet; empty: it is parked
};

} // namespace genv::tests
