// SPDX-License-Identifier: LGPL-2.1-or-later
// Alice's environment 10 and bob's environment 20 on a machine with two GPUs, and one request for
// devices, with what was answered about it.
#pragma once

#include "core/requests/granting.hpp"
#include "core/requests/request_decision.hpp"
#include "tests/core/queue_fixture.hpp"

#include <string>
#include <utility>
#include <vector>

namespace genv::tests {

class Requesting : public Queueing {
  protected:
    using Indices = std::vector<core::DeviceIndex>;

    Requesting() {
        haveGpus(2);
        activate("10", alice);
        activate("20", bob);
        ask({core::CountWanted{1}, {}, {}, false});
    }

    /// Begins with another request of alice's for more devices.
    void ask(core::AttachRequest wanted, const std::string& id = "10") {
        const core::EnvironmentRecord& environment = ledger.get(id);
        request.wanted =
            core::WantedDevices{id, environment.sequence, std::move(wanted), {}, false};
        request.owner = {environment.uid, environment.user, {}};
        request.actor = environment.uid;
        progress = {};
    }
    /// Begins with a request of alice's process for an environment.
    core::WantedEnvironment& start(core::Pid pid) {
        processes.add(pid, alice);
        core::WantedEnvironment wanted;
        wanted.process = processes.pin(pid).facts.identity;
        request.wanted = wanted;
        request.owner = {alice, "alice", {}};
        request.actor = alice;
        progress = {};
        return std::get<core::WantedEnvironment>(request.wanted);
    }
    [[nodiscard]] core::RequestState state() { return {ledger, queue, limits, isSettling}; }
    core::RequestDecision decide() { return core::decide(request, progress, state()); }
    /// Decides, and expects a result of this kind.
    template <typename Kind>
    Kind decideFor() {
        const core::RequestDecision decision = decide();
        const auto* expected = std::get_if<Kind>(&decision);
        EXPECT_NE(expected, nullptr) << "it is alternative " << decision.index();
        return expected != nullptr ? *expected : Kind{};
    }
    /// Expects a question about these devices, and allows it.
    void allow(const Indices& devices, core::Approval by = core::Approval::Rules) {
        EXPECT_EQ(decideFor<core::DeviceQuestion>().target.devices, devices);
        progress.allow(by);
    }
    void allowToExceed(core::Approval by = core::Approval::Rules) {
        EXPECT_FALSE(decideFor<core::LimitQuestion>().violation.empty());
        progress.allow(by);
    }
    [[nodiscard]] core::ErrorCode refusal(std::string* text = nullptr) {
        try {
            static_cast<void>(decide());
        } catch (const core::Error& error) {
            if (text != nullptr)
                *text = error.what();
            return error.code();
        }
        return core::ErrorCode::Internal; // no error
    }

    core::DeviceRequest request;
    core::RequestProgress progress;
    bool isSettling = false;
};

} // namespace genv::tests
