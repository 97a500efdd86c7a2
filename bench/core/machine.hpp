// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine for all benchmarks in this folder: a ledger with a number of environments on a number
// of devices, with one attachment and one compute process each, and the matching observation.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/store.hpp"
#include "core/settings/limits.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::bench {

/// The size of a machine.
struct Size {
    core::Pid environments = 0;
    core::DeviceIndex devices = 0;
};

class StoppedClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override { return {}; }
    [[nodiscard]] core::BootTime bootNow() const override {
        return core::BootTime{std::chrono::hours{1}};
    }
};

/// Discards all documents. The cost of files is measured separately.
class NoStore : public core::Store {
  public:
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override { return id; }
    void write(const core::EnvironmentId& /*id*/, const std::string& document) override {
        benchmark::DoNotOptimize(document.data());
    }
    void remove(const core::EnvironmentId& /*id*/) override {}
    std::vector<Found> readAll() override { return {}; }
    void setAside(const std::string& /*name*/, const std::string& /*why*/) override {}
};

/// Environment `i` has a share of device `i` modulo the number of devices, and a process on it.
/// Each user has twenty environments.
struct Machine {
    explicit Machine(Size wanted)
        : size(wanted), userCount(std::max<core::Uid>(wanted.environments / 20, 1)) {
        for (core::DeviceIndex index = 0; index < size.devices; ++index)
            seen.devices.push_back(
                {{uuidOf(index), index, core::DeviceKind::Gpu, "NVIDIA H100", {80ULL << 30}},
                 {},
                 {}});
        ledger.observed(seen);
        for (core::Pid i = 0; i < size.environments; ++i) {
            addEnvironment(i);
            addProcess(i);
        }
        idleness.observed(ledger, seen);
        for (core::Uid uid = firstUser; uid < firstUser + userCount; ++uid)
            users[uid] = {uid, "user" + std::to_string(uid), {100, students}};
    }

    static core::DeviceUuid uuidOf(core::DeviceIndex index) {
        return "GPU-00000000-0000-0000-0000-" + std::to_string(index);
    }
    static core::EnvironmentId idOf(core::Pid i) { return std::to_string(firstPid + i); }

    static constexpr core::Uid firstUser = 1000;
    static constexpr core::Gid students = 1101;
    static constexpr core::Pid firstPid = 100'000;
    static constexpr core::Bytes share{4ULL << 30};

    Size size;
    core::Uid userCount;
    StoppedClock clock;
    NoStore store;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    core::Observation seen;
    core::Idleness idleness;
    std::map<core::Uid, core::UserInfo> users;

  private:
    void addEnvironment(core::Pid i) {
        ledger.activate({idOf(i),
                         firstUser + i % userCount,
                         "user",
                         {},
                         {{{firstPid + i, 1}, nullptr}},
                         {},
                         false},
                        std::nullopt, 0);
        const core::AttachRequest request{core::IndicesWanted{{i % size.devices}}, std::nullopt,
                                          share, true};
        ledger.attach(idOf(i), core::place(request, ledger.devices(), ledger.find(idOf(i))), 0);
    }

    void addProcess(core::Pid i) {
        const core::Uid uid = firstUser + i % userCount;
        core::ObservedProcess process;
        process.facts = {{2 * firstPid + i, i}, {uid, uid, uid, uid}, firstPid + i};
        process.ancestors = {{firstPid + i, 1}, {50, 1}, {1, 1}};
        process.uses = {{uuidOf(i % size.devices), core::Bytes{3ULL << 30}}};
        seen.processes.push_back(std::move(process));
    }
};

/// A machine that is created for the first benchmark that uses it. Each benchmark restores its
/// state.
class LazyMachine {
  public:
    explicit LazyMachine(Size size) : size_(size) {}
    [[nodiscard]] Size size() const { return size_; }
    Machine& operator()() {
        if (!machine_)
            machine_ = std::make_unique<Machine>(size_);
        return *machine_;
    }

  private:
    Size size_;
    std::unique_ptr<Machine> machine_;
};

using SharedMachine = std::shared_ptr<LazyMachine>;

/// Adds a benchmark that uses a machine. Its name contains the size.
template <typename Measure>
benchmark::internal::Benchmark* addBenchmark(const char* name, const SharedMachine& machine,
                                             Measure measure) {
    return benchmark::RegisterBenchmark(
               name, [machine, measure](benchmark::State& state) { measure(state, (*machine)()); })
        ->ArgNames({"environments", "devices"})
        ->Args({machine->size().environments, machine->size().devices});
}

/// Measures only the second of three steps.
template <typename Before, typename Timed, typename After>
void timeAlone(benchmark::State& state, Before before, Timed timed, After after) {
    for (auto _ : state) {
        before();
        const auto began = std::chrono::steady_clock::now();
        timed();
        const auto took = std::chrono::steady_clock::now() - began;
        state.SetIterationTime(std::chrono::duration<double>(took).count());
        after();
    }
}

// The topics, each in its own file.
void addLedgerBenchmarks(const SharedMachine& machine);
void addPlacementBenchmarks(const SharedMachine& machine);
/// The size of its machine is fixed.
void addQueueBenchmarks();
void addReadingsBenchmarks(const SharedMachine& machine);
void addRulesBenchmarks(const SharedMachine& machine);
void addSnapshotBenchmarks(const SharedMachine& machine);
/// The store has no devices, so its size is the number of environments.
void addStoreBenchmarks(core::Pid environments);

} // namespace genv::bench
