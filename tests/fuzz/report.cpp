// SPDX-License-Identifier: LGPL-2.1-or-later
// The report argument of Execute, from any user, before authorization. A report is refused, or
// compared with the current state. It cannot name anything that does not exist.
#include "core/rules/report.hpp"

#include "core/ledger/membership.hpp"
#include "tests/fuzz/holder.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>

namespace genv::fuzz::report {

struct World {
    tests::FakeClock clock;
    tests::FakeStore store;
    tests::FakeProcesses processes;
    core::EventHub events;
    core::Ledger ledger{store, clock, events};
    core::Observation seen = tests::gpus(2);

    World() {
        seen.processes = {tests::computeProcess(500, tests::alice, {"GPU-0"}),
                          tests::computeProcess(501, tests::bob, {"GPU-0", "GPU-1"}),
                          tests::computeProcess(502, tests::root, {"GPU-1"})};
        seen.processes[0].ancestors = {{10, 7}};
        ledger.observed(seen);
        addHolder(ledger, processes, "10");
    }
};

GENV_FUZZ_TARGET(report) {
    core::EnforcementReport read;
    try {
        read = core::parseReport(input);
    } catch (const core::Error& error) {
        expect(error.code() == core::ErrorCode::InvalidArgs, "no report is a wrong argument");
        expectShowable(error.what(), "why a report is refused can be shown");
        return;
    }
    static const World world;
    const auto isProtected = [](const core::ObservedProcess& process) {
        return process.facts.uids.hasRoot();
    };
    const core::MatchedReport matched =
        core::matchReport(read, world.seen, world.ledger, isProtected);
    for (const core::EnforcementEntry& action : matched.unmatched)
        expectShowable(action.message, "what was not matched can be shown");
    const auto& [endings, detachments, ended, idleJobs] = matched.consequences;
    for (const core::Ending& ending : endings)
        expect(ending.process.identity.pid == 500 || ending.process.identity.pid == 501,
               "only a process that is there, and not root's, is ended");
    for (const core::Detachment& detachment : detachments)
        expect(detachment.environment == "10" && detachment.device == "GPU-0",
               "only what is attached is detached");
    expect(ended.empty() && idleJobs.empty(), "a report ends no environment and no job");
    expect(endings.size() <= 2 && detachments.size() <= 1, "what is named twice is done once");
}

} // namespace genv::fuzz::report
