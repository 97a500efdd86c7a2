// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures changes of the ledger: one environment is added to the existing ones. Documents are
// discarded, and events have no listeners.
#include "bench/core/machine.hpp"

namespace genv::bench {

namespace {

constexpr core::Pid probePid = 1'000'000;
constexpr const char* probeId = "probe";

void activateProbe(Machine& machine) {
    machine.ledger.activate(
        {probeId, Machine::firstUser, "user", {}, {{{probePid, 1}, nullptr}}, {}, false},
        std::nullopt, 0);
}

core::Placement placeProbe(const Machine& machine) {
    const core::AttachRequest request{core::IndicesWanted{{machine.size.devices / 2}}, std::nullopt,
                                      Machine::share, true};
    return core::place(request, machine.ledger.devices(), machine.ledger.find(probeId));
}

void measureActivate(benchmark::State& state, Machine& machine) {
    timeAlone(
        state, [] {}, [&] { activateProbe(machine); },
        [&] { machine.ledger.deactivate(probeId, 0); });
}

void measureDeactivate(benchmark::State& state, Machine& machine) {
    timeAlone(
        state, [&] { activateProbe(machine); }, [&] { machine.ledger.deactivate(probeId, 0); },
        [] {});
}

// Measures the end of the last process of an environment that holds a device.
void measureProcessEnd(benchmark::State& state, Machine& machine) {
    timeAlone(
        state,
        [&] {
            activateProbe(machine);
            machine.ledger.attach(probeId, placeProbe(machine), 0);
        },
        [&] {
            machine.ledger.processExited({probePid, 1});
        },
        [] {});
}

void measureAttach(benchmark::State& state, Machine& machine) {
    activateProbe(machine);
    core::Placement placement;
    timeAlone(
        state, [&] { placement = placeProbe(machine); },
        [&] { machine.ledger.attach(probeId, placement, 0); },
        [&] { machine.ledger.detach(probeId, {}, 0); });
    machine.ledger.deactivate(probeId, 0);
}

void measureDetach(benchmark::State& state, Machine& machine) {
    activateProbe(machine);
    timeAlone(
        state, [&] { machine.ledger.attach(probeId, placeProbe(machine), 0); },
        [&] { machine.ledger.detach(probeId, {}, 0); }, [] {});
    machine.ledger.deactivate(probeId, 0);
}

} // namespace

void addLedgerBenchmarks(const SharedMachine& machine) {
    addBenchmark("activate", machine, measureActivate)->UseManualTime();
    addBenchmark("deactivate", machine, measureDeactivate)->UseManualTime();
    addBenchmark("attach", machine, measureAttach)->UseManualTime();
    addBenchmark("detach", machine, measureDetach)->UseManualTime();
    addBenchmark("a process's end", machine, measureProcessEnd)->UseManualTime();
}

} // namespace genv::bench
