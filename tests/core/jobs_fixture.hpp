// SPDX-License-Identifier: LGPL-2.1-or-later
// A ledger with four GPUs, and helpers that start Slurm jobs.
#pragma once

#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {

class SlurmJobLedger : public LedgerTest {
  protected:
    using Indices = std::vector<core::DeviceIndex>;

    SlurmJobLedger() { haveGpus(4); }

    static core::NewSlurmJob job(core::SlurmJobId id, core::Uid uid, const Indices& devices,
                                 bool evict = false) {
        core::NewSlurmJob wanted{id, uid, uid == alice ? "alice" : "bob", {}};
        for (const core::DeviceIndex index : devices)
            wanted.devices.push_back("GPU-" + std::to_string(index));
        wanted.evict = evict;
        return wanted;
    }
    void start(core::SlurmJobId id, core::Uid uid, const Indices& devices, bool evict = false) {
        ledger.startJob(job(id, uid, devices, evict));
    }
    // Returns the sentence of the error that a function throws.
    template <typename Function>
    static std::string refusal(Function&& function) {
        try {
            std::forward<Function>(function)();
        } catch (const core::Error& error) {
            return error.what();
        }
        return "nothing";
    }
};

} // namespace genv::tests
