// SPDX-License-Identifier: LGPL-2.1-or-later
// An enforcer on a machine that the test describes, and its answers.
#pragma once

#include "core/rules/enforcer.hpp"
#include "tests/core/rules_fixture.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::tests {

class EnforcerTest : public RulesTest {
  protected:
    EnforcerTest() {
        userBase.add(root, "root");
        userBase.add(alice, "alice");
        userBase.add(bob, "bob");
    }

    /// Adds a compute process that exists, so that it can be signalled.
    void runReal(core::Pid pid, core::Uid uid,
                 const std::vector<std::pair<core::DeviceIndex, std::optional<core::Bytes>>>& uses,
                 const std::optional<std::string>& environment = std::nullopt) {
        states[pid] = processes.add(pid, uid);
        run(pid, uid, uses, environment);
    }
    std::size_t signalled(core::Pid pid) { return states.at(pid)->signals.size(); }

    core::Enforcer::Answer keep() {
        return
            [this](const std::vector<core::EnforcementEntry>* actions, const std::string& failure) {
                answers.push_back(actions != nullptr ? std::optional(*actions) : std::nullopt);
                failures.push_back(failure);
            };
    }
    void enforce(const core::EnforcementOptions& options = {}) {
        enforcer.run(rules, options, keep());
    }
    /// Answers all callers that wait for the driver with the processes that run now.
    void look() {
        ++looks;
        observer.answer(seen);
    }

    /// Returns the messages of the first answer.
    Texts messages() {
        Texts texts;
        for (const core::EnforcementEntry& action : answers.at(0).value())
            texts.push_back(action.message);
        return texts;
    }
    std::vector<core::EnforcementEntry::Kind> kinds() {
        std::vector<core::EnforcementEntry::Kind> result;
        for (const core::EnforcementEntry& action : answers.at(0).value())
            result.push_back(action.kind);
        return result;
    }

    FakeObserver observer;
    FakeScheduler scheduler;
    FakeUsers userBase;
    SilentLog log;
    int looks = 0;
    std::map<core::Pid, std::shared_ptr<FakeProcesses::State>> states;
    std::vector<std::optional<std::vector<core::EnforcementEntry>>> answers;
    Texts failures;
    core::Terminator terminator{processes, observer, scheduler,
                                events,    99,       [] { return std::chrono::seconds{10}; }};
    core::Enforcer enforcer{{ledger, observer, userBase, terminator, idleness, clock, events, log}};
};

} // namespace genv::tests
