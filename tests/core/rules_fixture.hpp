// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine on which to evaluate rules: a ledger, running processes, limits, and the findings as
// short texts.
#pragma once

#include "core/rules/rule.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

class RulesTest : public LedgerTest {
  protected:
    explicit RulesTest(core::DeviceIndex devices = 4) : seen(gpus(devices)) {
        ledger.observed(seen);
        rules = {{false, false, false},
                 [this](const core::UserInfo& user) { return table.of(user); }};
    }

    /// A start time, in clock ticks, that is later than every time of the test's clock.
    static constexpr std::uint64_t afterAll = 1ULL << 40U;

    /// Adds a compute process, in an environment if one is given.
    core::ObservedProcess&
    run(core::Pid pid, core::Uid uid,
        const std::vector<std::pair<core::DeviceIndex, std::optional<core::Bytes>>>& uses,
        const std::optional<std::string>& environment = std::nullopt, std::uint64_t startTime = 7) {
        core::ObservedProcess process;
        process.facts = {{pid, startTime}, {uid, uid, uid, uid}, 1};
        if (environment)
            process.environmentHint = core::EnvironmentHint{*environment, std::nullopt};
        // If the process is not the owner's, only the stamp and a sufficiently late start time are
        // trusted.
        const core::EnvironmentRecord* named = environment ? ledger.find(*environment) : nullptr;
        if (named != nullptr && named->uid != uid) {
            process.environmentHint->created = named->created;
            process.facts.identity.startTime += afterAll;
        }
        for (const auto& [index, memory] : uses)
            process.uses.push_back({"GPU-" + std::to_string(index), memory});
        return seen.processes.emplace_back(std::move(process));
    }

    /// Attaches beyond a limit, as a privileged user does.
    void attachExempt(const std::string& id, std::vector<core::DeviceIndex> indices,
                      std::optional<core::Bytes> share = std::nullopt) {
        ledger.attach(
            id, planned(id, {core::IndicesWanted{std::move(indices)}, std::nullopt, share, true}),
            root, {true, std::nullopt});
    }
    void attachShares(const std::string& id, std::vector<core::DeviceIndex> indices,
                      core::Bytes share) {
        attach(id, {core::IndicesWanted{std::move(indices)}, std::nullopt, share, true});
    }

    std::vector<core::Finding> findings() {
        const auto isProtected = [this](const core::ObservedProcess& process) {
            return shielded.contains(process.facts.identity.pid);
        };
        const core::Situation situation{ledger.environments(),
                                        ledger.devices(),
                                        core::runningProcesses(ledger, seen, isProtected, guarded),
                                        idleness,
                                        users,
                                        clock.bootNow()};
        return core::evaluate(situation, rules);
    }
    /// Returns the only finding. Any other number of findings fails the test.
    core::Finding finding() {
        const auto all = findings();
        EXPECT_EQ(all.size(), 1U);
        return all.size() == 1 ? all.front()
                               : core::Finding{core::Rule::EnvDevices, 0, {}, "", "no finding"};
    }

    static std::vector<core::Pid> pidsOf(const core::Consequences& consequences) {
        std::vector<core::Pid> pids;
        for (const core::Ending& ending : consequences.endings)
            pids.push_back(ending.process.identity.pid);
        return pids;
    }
    static std::vector<core::Pid> pidsOf(const core::Finding& finding) {
        return pidsOf(finding.consequences);
    }
    /// Returns each detachment as "20/GPU-0".
    static std::vector<std::string> detachmentsOf(const core::Consequences& consequences) {
        std::vector<std::string> detachments;
        for (const core::Detachment& detachment : consequences.detachments)
            detachments.push_back(detachment.environment + "/" + detachment.device);
        return detachments;
    }
    static std::vector<std::string> detachmentsOf(const core::Finding& finding) {
        return detachmentsOf(finding.consequences);
    }
    static std::vector<std::string> messagesOf(const std::vector<core::Finding>& all) {
        std::vector<std::string> messages;
        for (const core::Finding& finding : all)
            messages.push_back(finding.message);
        return messages;
    }

    core::Observation seen;
    core::Idleness idleness;
    core::LimitTable table;
    core::RuleSet rules;
    core::GuardedUses guarded;    ///< empty: isolation guards nothing
    std::set<core::Pid> shielded; ///< never terminated
    std::map<core::Uid, core::UserInfo> users{
        {root, {root, "root", {}}}, {alice, {alice, "alice", {}}}, {bob, {bob, "bob", {}}}};
};

using Pids = std::vector<core::Pid>;
using Texts = std::vector<std::string>;

/// Returns mebibytes, the unit that messages show.
inline core::Bytes mebibytes(std::uint64_t count) {
    return {count << 20};
}

} // namespace genv::tests
