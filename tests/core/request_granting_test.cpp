// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests get what was decided, with the lifetimes, ids and parents that they asked for or that
// are the default.
#include "tests/core/requests_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;

class RequestGrants : public Requesting {
  protected:
    // Allows all that is asked, and carries the request out.
    core::Granted give() {
        for (;;) {
            const core::RequestDecision decision = decide();
            if (const auto* grant = std::get_if<core::RequestGrant>(&decision)) {
                const core::RequestState now = state();
                return core::give(request, *grant, member, request.actor, now);
            }
            progress.allow(core::Approval::Rules);
        }
    }
    // Begins with a request of a process of alice's, which becomes its member.
    core::WantedEnvironment& startWith(core::Pid pid) {
        core::WantedEnvironment& wanted = start(pid);
        member = core::adopt(processes.pin(pid), alice, alice);
        return wanted;
    }
    core::JupyterKernel jupyterKernel(const std::string& id, core::Pid pid) {
        processes.add(pid, alice);
        return {id, core::adopt(processes.pin(pid), alice, alice), {}};
    }

    core::Member member;
};

TEST_F(RequestGrants, StartAnEnvironmentUnderThePidOfItsProcess) {
    core::WantedEnvironment& wanted = startWith(30);
    wanted.attach = true;
    wanted.configuration.gpus = 2;
    const core::Granted granted = give();
    EXPECT_EQ(granted.environment, "30");
    EXPECT_EQ(granted.ticket, std::nullopt);
    EXPECT_EQ(devicesOf("30"), (Indices{0, 1}));
    EXPECT_EQ(ledger.get("30").user, "alice");
}

TEST_F(RequestGrants, ChooseAnotherIdIfThatIsTaken) {
    startWith(30).id = "31";
    EXPECT_EQ(give().environment, "31");
    startWith(31);
    const core::EnvironmentId id = give().environment;
    EXPECT_NE(id, "31");
    EXPECT_TRUE(id.starts_with("31")) << id;
}

TEST_F(RequestGrants, JoinAnEnvironmentOfTheSameOwner) {
    startWith(30).id = "10";
    EXPECT_EQ(give().environment, "10");
    EXPECT_EQ(ledger.get("10").processes.size(), 2U);
    startWith(32).id = "20";
    EXPECT_EQ(refusal(), ErrorCode::AlreadyExists);
}

TEST_F(RequestGrants, RefuseALifetimeForAnEnvironmentThatIsOnlyJoined) {
    startWith(30).id = "10";
    request.terms.lifetime = std::chrono::hours{1};
    EXPECT_EQ(refusal(), ErrorCode::InvalidArgs);
    std::get<core::WantedEnvironment>(request.wanted).restarts = true;
    give();
    EXPECT_EQ(ledger.get("10").processes.size(), 2U);
}

TEST_F(RequestGrants, AttachInOneChangeAndWaitInTheQueue) {
    EXPECT_EQ(give().ticket, std::nullopt);
    EXPECT_EQ(devicesOf("10"), Indices{0});
    attachIndices("20", {1});
    request.terms.wait = true;
    ask({core::IndicesWanted{{1}}, {}, {}, false});
    const core::Granted granted = give();
    ASSERT_NE(granted.ticket, std::nullopt);
    EXPECT_EQ(ledger.waits().at(*granted.ticket), "10");
}

TEST_F(RequestGrants, ChangeWhetherTheEnvironmentLends) {
    std::get<core::WantedDevices>(request.wanted).preemptible = core::Preemptible::Park;
    give();
    EXPECT_EQ(ledger.get("10").configuration.preemptible, core::Preemptible::Park);
}

TEST_F(RequestGrants, WithinAnEnvironmentUseItsDevicesAndNoQuota) {
    attachIndices("10", {0, 1});
    limits.maxDevices = limits.maxEnvironments = 0;
    core::WantedEnvironment& wanted = startWith(30);
    wanted.within = "10";
    wanted.parentSequence = ledger.get("10").sequence;
    wanted.attach = true;
    wanted.configuration.gpus = 1;
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_EQ(question.target.parent, "10");
    EXPECT_EQ(question.target.parentOwner, alice);
    progress.allow(core::Approval::Rules);
    EXPECT_FALSE(decideFor<core::RequestGrant>().exempt);
    give();
    EXPECT_EQ(ledger.get("30").parent, "10");
    EXPECT_EQ(devicesOf("30"), Indices{0});
}

TEST_F(RequestGrants, WithinAnEnvironmentThatEndedMeanwhileAreRefused) {
    core::WantedEnvironment& wanted = startWith(30);
    wanted.within = "10";
    wanted.parentSequence = ledger.get("10").sequence;
    ledger.deactivate("10", alice);
    activate("10", alice);
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment);
}

TEST_F(RequestGrants, HaveTheLongestLifetimeByDefault) {
    using namespace std::chrono_literals;
    EXPECT_EQ(core::lifetimeOfNew({}, false, {}), std::nullopt);
    EXPECT_EQ(core::lifetimeOfNew({}, false, 90'500ms), 90s);
    EXPECT_EQ(core::lifetimeOfNew({}, false, 20ms), 1s);
    EXPECT_EQ(core::lifetimeOfNew(10s, false, 20ms), 10s) << "that limit is checked elsewhere";
    EXPECT_EQ(core::lifetimeOfNew({}, true, 20ms), std::nullopt);
    limits.maxLifetime = 1h;
    startWith(30);
    give();
    EXPECT_TRUE(ledger.get("30").lease);
    limits.maxLifetime.reset();
    startWith(33);
    give();
    EXPECT_FALSE(ledger.get("33").lease);
}

TEST_F(RequestGrants, FindTheEnvironmentOfARestartedJupyterKernel) {
    const core::JupyterKernel first = jupyterKernel("k", 40);
    ledger.addJupyterKernel("10", first, alice);
    const core::JupyterKernel second = jupyterKernel("k", 41);
    EXPECT_EQ(core::environmentOfRestarted(second, alice, ledger), nullptr) << "both live";
    EXPECT_EQ(core::environmentOfRestarted(first, alice, ledger), &ledger.get("10"));
    EXPECT_EQ(core::environmentOfRestarted(first, bob, ledger), nullptr);
    EXPECT_EQ(core::environmentOfRestarted(jupyterKernel("other", 42), alice, ledger), nullptr);
}

} // namespace
} // namespace genv::tests
