// SPDX-License-Identifier: LGPL-2.1-or-later
// A user who holds a GPU, as background for other inputs.
#pragma once

#include "core/environments/root_process.hpp"
#include "core/ledger/ledger.hpp"
#include "core/placement/placement.hpp"
#include "tests/core/fakes.hpp"

#include <string>

namespace genv::fuzz {

/// Gives an environment of alice's, kept alive by process 10, one of the GPUs.
inline void addHolder(core::Ledger& ledger, tests::FakeProcesses& processes,
                      const std::string& id) {
    processes.add(10, tests::alice);
    ledger.activate({id,
                     tests::alice,
                     "alice",
                     {},
                     {core::adopt(processes.pin(10), tests::alice, tests::alice)},
                     {}},
                    core::place({core::CountWanted{1}, std::nullopt, std::nullopt, false},
                                ledger.devices(), nullptr),
                    tests::alice);
}

} // namespace genv::fuzz
