// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures one evaluation of all rules, because a cycle must not delay the loop. Measured once with
// nothing to find, which is the usual case, and once with every user above a limit.
#include "bench/core/machine.hpp"
#include "core/rules/rule.hpp"

namespace genv::bench {

namespace {

core::LimitTable limits(bool strict) {
    core::LimitTable table;
    const std::uint32_t limit = strict ? 5 : 100'000;
    table.general.maxDevices = limit;
    table.general.maxEnvironments = limit * 2;
    table.general.maxProcesses = limit;
    table.general.maxGpuMemory = core::Bytes{static_cast<std::uint64_t>(limit) << 30};
    table.general.maxGpuMemoryPerDevice = core::Bytes{static_cast<std::uint64_t>(limit) << 30};
    table.general.maxLifetime = std::chrono::hours{24};
    table.general.idleTimeout = std::chrono::hours{24};
    table.groups["students"] = table.general;
    table.ids.groups.names[Machine::students] = {"students"};
    return table;
}

void measureRules(benchmark::State& state, const Machine& machine, bool strict) {
    const core::LimitTable table = limits(strict);
    const core::RuleSet rules{{true, true, true},
                              [&](const core::UserInfo& user) { return table.of(user); }};
    for ([[maybe_unused]] auto _ : state) {
        const core::Situation situation{
            machine.ledger.environments(),
            machine.ledger.devices(),
            core::runningProcesses(machine.ledger, machine.seen,
                                   [](const core::ObservedProcess&) { return false; }),
            machine.idleness,
            machine.users,
            machine.clock.bootNow()};
        const auto found = core::evaluate(situation, rules);
        benchmark::DoNotOptimize(found.data());
        if (found.empty() == strict)
            state.SkipWithError("the rules did not find the expected violations");
    }
}

void measureNothing(benchmark::State& state, const Machine& machine) {
    measureRules(state, machine, false);
}

void measureAll(benchmark::State& state, const Machine& machine) {
    measureRules(state, machine, true);
}

// Measures the step of a cycle before its rules: finding idle attachments.
void measureIdleness(benchmark::State& state, const Machine& machine) {
    core::Idleness idleness = machine.idleness;
    for ([[maybe_unused]] auto _ : state)
        idleness.observed(machine.ledger, machine.seen);
}

} // namespace

void addRulesBenchmarks(const SharedMachine& machine) {
    addBenchmark("rules, nothing to find", machine, measureNothing);
    addBenchmark("rules, all over limits", machine, measureAll);
    addBenchmark("idleness", machine, measureIdleness);
}

} // namespace genv::bench
