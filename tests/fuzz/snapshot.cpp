// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers of other hosts over SSH: snapshots, one line each, from one host after another, and the
// rules over all of them. A snapshot is refused as a whole, or the rules can process it.
#include "client/remote/fleet/fleet_rules.hpp"
#include "client/remote/fleet/old_genv.hpp"
#include "core/base/error.hpp"
#include "core/rules/report.hpp"
#include "tests/fuzz/target.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace genv::fuzz::snapshot {

// Expects that an entity in a written report is read back unchanged.
void expectWrittenAgain(const remote::Snapshot& read) {
    for (const remote::Snapshot::Process& process : read.processes) {
        const std::string report = fmt::format(R"({{"terminate":{{"processes":[{}]}}}})",
                                               remote::writeJson(remote::processJson(process)));
        const core::EnforcementReport again = core::parseReport(report);
        expect(again.terminate.size() == 1 && again.terminate[0].pid == process.pid &&
                   again.terminate[0].environment == process.environment,
               "a process in a report is the one of the snapshot");
    }
    std::string envs;
    for (const remote::Snapshot::Environment& environment : read.environments)
        envs += (envs.empty() ? "" : ",") + remote::writeJson(remote::environmentJson(environment));
    const remote::Snapshot again = remote::parseSnapshot(fmt::format(
        R"({{"processes":{{"processes":[]}},"envs":{{"envs":[{}]}},"devices":{{"devices":[]}}}})",
        envs));
    expect(again.environments.size() == read.environments.size(), "every environment is written");
    for (std::size_t i = 0; i < again.environments.size(); ++i)
        expect(again.environments[i].id == read.environments[i].id &&
                   again.environments[i].created == read.environments[i].created &&
                   again.environments[i].gpuMemory == read.environments[i].gpuMemory,
               "an environment is read as it was written");
}

GENV_FUZZ_TARGET(snapshot) {
    std::vector<remote::FleetHost> hosts;
    for (const std::string_view line : linesIn(input)) {
        try {
            const remote::Snapshot read = remote::parseSnapshot(line);
            expectWrittenAgain(read);
            hosts.push_back(
                {hosts.size() % 2 == 0 ? remote::Genv::Service : remote::Genv::Old, read});
        } catch (const remote::InvalidSnapshot& error) {
            expectShowable(error.what(), "why a snapshot is refused can be shown");
        }
        // The same line, as the output of a command that failed on the host.
        const int status = static_cast<int>(line.size() % 256);
        expectShowable(remote::commandFailed("genv", {status, "", std::string(line)}).what(),
                       "what a far command says can be shown");
        if (hosts.size() == 4)
            break;
    }
    remote::FleetRules rules;
    rules.switches.nonEnvProcesses = true;
    rules.maxHosts.everybody = 1;
    rules.maxDevices.everybody = 1;
    rules.maxDevices.users["bob"] = 0;
    const remote::FleetDecision decision = remote::decide(hosts, rules);
    expect(decision.orders.size() == hosts.size(), "every host has its orders");
    for (const remote::HostOrders& orders : decision.orders) {
        if (!orders.report.empty())
            core::parseReport(orders.report);
    }
    expect(remote::sameMachines(hosts).size() == hosts.size(), "every host is one");
}

} // namespace genv::fuzz::snapshot
