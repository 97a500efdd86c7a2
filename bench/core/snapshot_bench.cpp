// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures the snapshot of everything that Snapshot returns.
#include "bench/core/machine.hpp"
#include "core/ledger/snapshot.hpp"

namespace genv::bench {

namespace {

void measureSnapshot(benchmark::State& state, const Machine& machine) {
    for ([[maybe_unused]] auto _ : state) {
        const std::string text = core::snapshot(machine.ledger, machine.seen);
        benchmark::DoNotOptimize(text.data());
    }
}

} // namespace

void addSnapshotBenchmarks(const SharedMachine& machine) {
    addBenchmark("snapshot", machine, measureSnapshot);
}

} // namespace genv::bench
