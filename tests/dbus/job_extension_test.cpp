// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm sets the end of a Slurm job. The tests check who may extend it, by how much, and when the
// call is answered.
#include "dbus/environment/job_extension.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::ErrorCode;
using policy::Verdict;
using Texts = std::vector<std::string>;

// Alice's job 12 ends in an hour. Her limit for jobs is two hours.
class JobExtensions : public ContextTest {
  protected:
    JobExtensions() {
        users.add(alice, "alice");
        settings.limits.general.maxLifetime = 2h;
        core::NewSlurmJob job{12, alice, "alice", {}};
        job.ends = clock.wall + 1h;
        ledger.startJob(job);
        ends = clock.wall + 1h;
    }

    void configure(core::Uid uid, const core::EnvironmentConfigurationChange& change) {
        const auto reply = call(uid);
        reply.guarded([&] { dbus::extendJob(context, reply, ledger.get("slurm-12"), change); });
    }
    void extend(core::Uid uid, std::chrono::seconds lifetime) {
        core::EnvironmentConfigurationChange change;
        change.lifetime.emplace(lifetime);
        configure(uid, change);
    }
    std::optional<core::WallTime> end() { return ledger.get("slurm-12").jobEnd(); }
    std::optional<ErrorCode> refusal() const {
        return refusals.empty() ? std::nullopt : std::optional(refusals[0].code);
    }

    core::WallTime ends;
};

TEST_F(JobExtensions, AreOneQuestionOfTheirOwnAndSlurmsToCarryOut) {
    extend(alice, 5400s);
    ASSERT_EQ(authorizer.questions.size(), 1U);
    EXPECT_EQ(authorizer.questions[0].action, policy::Action::ExtendJob);
    EXPECT_EQ(authorizer.questions[0].details.at("environment"), "slurm-12");
    EXPECT_TRUE(slurm.asked.empty()) << "not before the answer";
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(slurm.asked, Texts{"end 12 1600005400"});
    EXPECT_EQ(end(), ends) << "not before Slurm has done it";
    slurm.answer();
    EXPECT_EQ(end(), clock.wall + 5400s);
    EXPECT_TRUE(refusals.empty());
}

TEST_F(JobExtensions, WithoutConsentAskSlurmNothing) {
    extend(alice, 5400s);
    authorizer.answer(Verdict::Denied);
    EXPECT_EQ(refusal(), ErrorCode::AccessDenied);
    EXPECT_TRUE(slurm.asked.empty());
}

TEST_F(JobExtensions, OfAnothersJobAreManagingOthers) {
    extend(bob, 5400s);
    EXPECT_EQ(authorizer.questions.at(0).action, policy::Action::ManageOthers);
}

TEST_F(JobExtensions, StayWithinMaxLifetimeButForRoot) {
    clock.pass(1800s);
    extend(alice, 5401s);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
    EXPECT_EQ(authorizer.questions.size(), 1U) << "nobody is asked to exceed it";
    EXPECT_TRUE(slurm.asked.empty());
    extend(0, 36000s);
    EXPECT_EQ(slurm.asked.size(), 1U);
}

TEST_F(JobExtensions, NeverEndAJobSooner) {
    extend(0, 60s);
    EXPECT_TRUE(slurm.asked.empty());
    EXPECT_TRUE(refusals.empty()) << "it is answered";
    EXPECT_EQ(end(), ends);
}

// Slurm's helper reads the job's end.
TEST_F(JobExtensions, AskSlurmAlsoWhereNoPrologToldTheEnd) {
    core::NewSlurmJob job{13, alice, "alice", {}};
    ledger.startJob(job);
    core::EnvironmentConfigurationChange change;
    change.lifetime.emplace(60s);
    const auto reply = call(0);
    reply.guarded([&] { dbus::extendJob(context, reply, ledger.get("slurm-13"), change); });
    EXPECT_EQ(slurm.asked.size(), 1U);
    slurm.answer(core::SlurmFailure{"its end is already later"});
    EXPECT_EQ(refusal(), ErrorCode::SlurmFailed);
    EXPECT_EQ(ledger.get("slurm-13").jobEnd(), std::nullopt);
}

TEST_F(JobExtensions, AreRefusedForAJobWhoseOwnerIsAGuess) {
    core::NewSlurmJob job{13, alice, "alice", {}};
    job.isInferred = true;
    ledger.startJob(job);
    core::EnvironmentConfigurationChange change;
    change.lifetime.emplace(60s);
    const auto reply = call(alice);
    reply.guarded([&] { dbus::extendJob(context, reply, ledger.get("slurm-13"), change); });
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusal(), ErrorCode::NotSupported);
    EXPECT_TRUE(slurm.asked.empty());
}

TEST_F(JobExtensions, SayWhyThatSlurmDidNotDoThem) {
    extend(0, 5400s);
    slurm.answer(core::SlurmFailure{"Job/step already completing or completed\x1b"});
    EXPECT_EQ(refusal(), ErrorCode::SlurmFailed);
    EXPECT_EQ(refusalText(), "Slurm job 12 was not extended: Job/step already completing or "
                             "completed\\x1b");
    EXPECT_EQ(end(), ends);
}

TEST_F(JobExtensions, OfAJobThatIsOverByThenAreRefused) {
    extend(0, 5400s);
    ledger.deactivate("slurm-12", 0);
    slurm.answer();
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment);
}

TEST_F(JobExtensions, AreAllThatMayBeConfigured) {
    core::EnvironmentConfigurationChange name;
    name.name.emplace("x");
    core::EnvironmentConfigurationChange both = name;
    both.lifetime.emplace(5400s);
    core::EnvironmentConfigurationChange unset;
    unset.lifetime.emplace();
    for (const core::EnvironmentConfigurationChange& change :
         {name, both, unset, core::EnvironmentConfigurationChange{}}) {
        refusals.clear();
        configure(alice, change);
        EXPECT_EQ(refusal(), ErrorCode::NotSupported);
        EXPECT_EQ(refusalText(),
                  "environment slurm-12 belongs to Slurm job 12; scancel 12 ends it");
    }
    EXPECT_TRUE(authorizer.questions.empty());
}

} // namespace
} // namespace genv::tests
