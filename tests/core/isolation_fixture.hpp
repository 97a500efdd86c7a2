// SPDX-License-Identifier: LGPL-2.1-or-later
// A ledger whose devices are guarded by a stand-in for the gate.
#pragma once

#include "core/isolation/isolation.hpp"
#include "tests/core/fake_gates.hpp"
#include "tests/core/kept_log.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {

class IsolationTest : public LedgerTest {
  protected:
    IsolationTest() {
        settings.mode = core::IsolationMode::User;
        ledger.guardBy(&isolation);
    }

    // GPU I has the node 195:I.
    static core::Observation observation(core::DeviceIndex count) {
        core::Observation seen = gpus(count);
        for (core::DeviceSample& sample : seen.devices)
            sample.nodes = {{195, sample.facts.index}};
        return seen;
    }
    void observe(const core::Observation& seen) {
        isolation.learn(seen);
        ledger.observed(seen);
        isolation.check();
    }
    void haveNodes(core::DeviceIndex count) { observe(observation(count)); }

    FakeGates gates;
    KeptLog log;
    core::IsolationSettings settings;
    core::Isolation isolation{ledger, gates, events, log,
                              [this]() -> const core::IsolationSettings& { return settings; }};
};

} // namespace genv::tests
