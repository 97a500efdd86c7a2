// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures placement: selecting devices among all, and refusing a request. Changes nothing.
#include "bench/core/machine.hpp"
#include "core/base/error.hpp"

namespace genv::bench {

namespace {

void measurePlacement(benchmark::State& state, const Machine& machine) {
    const core::AttachRequest request{core::CountWanted{1}, std::nullopt, Machine::share, true};
    for ([[maybe_unused]] auto _ : state) {
        const core::Placement placement = core::place(request, machine.ledger.devices(), nullptr);
        benchmark::DoNotOptimize(placement.attach.data());
    }
}

// Requests all devices, although others hold some of them.
void measureRefusal(benchmark::State& state, const Machine& machine) {
    const core::AttachRequest request{core::CountWanted{machine.size.devices}, std::nullopt,
                                      std::nullopt, false};
    for ([[maybe_unused]] auto _ : state) {
        try {
            core::place(request, machine.ledger.devices(), nullptr);
            state.SkipWithError("placement chose devices that others hold");
        } catch (const core::Error& error) {
            benchmark::DoNotOptimize(error.what());
        }
    }
}

} // namespace

void addPlacementBenchmarks(const SharedMachine& machine) {
    addBenchmark("placement", machine, measurePlacement);
    addBenchmark("placement, refused", machine, measureRefusal);
}

} // namespace genv::bench
