// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines that the driver's helper process sends to the service. A line is refused, or it has
// samples that the ledger can process, one after another.
#include "service/gpu/nvml_devices.hpp"
#include "service/gpu/nvml_protocol.hpp"
#include "tests/core/fakes.hpp"
#include "tests/fuzz/target.hpp"

#include <set>

namespace genv::fuzz::nvml_answer {

void expectConsistent(const core::LedgerView& ledger, const core::GpuSample& sample) {
    std::set<std::string> uuids;
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        expect(device.facts.index == index, "a device has the index where it is found");
        expect(uuids.insert(device.facts.uuid).second, "a device is listed once");
        expect(ledger.devices().findUuid(device.facts.uuid) == &device,
               "a device is found by its UUID");
    }
    for (const core::DeviceSample& device : sample.devices)
        expect(uuids.contains(device.facts.uuid), "no device that works is left out");
}

GENV_FUZZ_TARGET(nvml_answer) {
    tests::FakeClock clock;
    tests::FakeStore store;
    const core::EventHub events;
    core::Ledger ledger(store, clock, events);
    service::NvmlDevices devices;
    for (const std::string_view line : linesIn(input)) {
        try {
            service::decodeRequest(line);
        } catch (const service::ProtocolError& error) {
            expectShowable(error.what(), "why a request is refused can be shown");
        }
        try {
            const auto [number, answer] = service::decodeAnswer(line);
            const std::string again = service::encodeAnswer(number, answer);
            expect(service::encodeAnswer(number, service::decodeAnswer(again).second) == again,
                   "an answer is read as it was written");
            const auto* report = std::get_if<service::NvmlReport>(&answer);
            if (report == nullptr)
                continue;
            const core::GpuSample sample = devices.update(*report);
            core::Observation observation;
            observation.devices = sample.devices;
            ledger.observed(observation);
            expectConsistent(ledger, sample);
        } catch (const service::ProtocolError& error) {
            expectShowable(error.what(), "why an answer is refused can be shown");
        }
    }
}

} // namespace genv::fuzz::nvml_answer
