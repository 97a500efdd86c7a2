// SPDX-License-Identifier: LGPL-2.1-or-later
// How long one evaluation of all rules takes on the largest machine that genv is meant for: a
// cycle must not hold up the loop. Once with nothing to find, as nearly always, and once with
// everything over a limit.
#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/store.hpp"
#include "core/rules/rule.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace genv;

constexpr core::DeviceIndex deviceCount = 1024;
constexpr core::Pid environmentCount = 10'000;
constexpr core::Pid processCount = 10'000;
constexpr core::Uid firstUser = 1000;
constexpr core::Uid userCount = 500;

class StoppedClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override { return {}; }
    [[nodiscard]] core::BootTime bootNow() const override {
        return core::BootTime{std::chrono::hours{1}};
    }
};

class NoStore : public core::Store {
  public:
    [[nodiscard]] std::string nameOf(const core::EnvironmentId& id) const override { return id; }
    void write(const core::EnvironmentId& /*id*/, const std::string& /*document*/) override {}
    void remove(const core::EnvironmentId& /*id*/) override {}
    std::vector<Found> readAll() override { return {}; }
    void setAside(const std::string& /*name*/, const std::string& /*why*/) override {}
};

core::DeviceUuid uuidOf(core::DeviceIndex index) {
    return "GPU-00000000-0000-0000-0000-" + std::to_string(index);
}

// Each environment shares one device with about nine others, and has one process on it.
struct Machine {
    Machine() {
        for (core::DeviceIndex index = 0; index < deviceCount; ++index)
            seen.devices.push_back(
                {{uuidOf(index), index, core::DeviceKind::Gpu, "NVIDIA H100", {80ULL << 30}},
                 {},
                 {}});
        ledger.observed(seen);
        for (core::Pid i = 0; i < environmentCount; ++i)
            addEnvironment(i);
        for (core::Pid i = 0; i < processCount; ++i)
            addProcess(i);
        idleness.observed(ledger, seen);
        for (core::Uid uid = firstUser; uid < firstUser + userCount; ++uid)
            users[uid] = {uid, "user" + std::to_string(uid), {"users", "students"}};
    }

    void addEnvironment(core::Pid i) {
        const core::Uid uid = firstUser + i % userCount;
        const std::string id = std::to_string(i + 100'000);
        ledger.activate({id, uid, "user", {}, {{{i + 100'000, 1}, nullptr}}, {}, false},
                        std::nullopt, 0);
        const core::AttachRequest request{core::IndicesWanted{{i % deviceCount}}, std::nullopt,
                                          core::Bytes{4ULL << 30}, true};
        ledger.attach(id, core::place(request, ledger.devices(), ledger.find(id)), 0);
    }

    void addProcess(core::Pid i) {
        const core::Uid uid = firstUser + i % userCount;
        core::ComputeProcess process;
        process.facts = {{i + 200'000, i}, {uid, uid, uid, uid}, i + 100'000};
        process.ancestors = {{i + 100'000, 1}, {50, 1}, {1, 1}};
        process.uses = {{uuidOf(i % deviceCount), core::Bytes{3ULL << 30}}};
        seen.processes.push_back(std::move(process));
    }

    StoppedClock clock;
    NoStore store;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    core::Observation seen;
    core::Idleness idleness;
    std::map<core::Uid, core::UserInfo> users;
};

const Machine& machine() {
    static const Machine only;
    return only;
}

core::LimitTable limits(bool strict) {
    core::LimitTable table;
    const std::uint32_t most = strict ? 5 : 100'000;
    table.general.maxDevices = most;
    table.general.maxEnvironments = most * 2;
    table.general.maxProcesses = most;
    table.general.maxGpuMemory = core::Bytes{static_cast<std::uint64_t>(most) << 30};
    table.general.maxGpuMemoryPerDevice = core::Bytes{static_cast<std::uint64_t>(most) << 30};
    table.general.maxLifetime = std::chrono::hours{24};
    table.general.idleTimeout = std::chrono::hours{24};
    table.groups["students"] = table.general;
    return table;
}

void evaluateAllRules(benchmark::State& state, bool strict) {
    const Machine& all = machine();
    const core::LimitTable table = limits(strict);
    const core::RuleSet rules{true, true, true,
                              [&](const core::UserInfo& user) { return table.of(user); }};
    std::size_t findings = 0;
    for (auto _ : state) {
        const core::Situation situation{
            all.ledger,          all.seen,
            all.idleness,        all.users,
            all.clock.bootNow(), [](const core::ComputeProcess&) { return false; }};
        const auto found = core::evaluate(situation, rules);
        benchmark::DoNotOptimize(found.data());
        findings = found.size();
    }
    state.SetLabel(std::to_string(findings) + " findings");
}

// What a cycle does before its rules: seeing which attachments are idle.
void measureIdleness(benchmark::State& state) {
    core::Idleness idleness = machine().idleness;
    for (auto _ : state)
        idleness.observed(machine().ledger, machine().seen);
}

} // namespace

BENCHMARK(measureIdleness)
    ->Name("evaluateAllRules/idleness_before_them")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluateAllRules, nothing_to_find, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluateAllRules, all_over_limits, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
