// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment of a process in the control group of a Slurm job.
#include "dbus/manager/environment_search.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using Texts = std::vector<std::string>;

// Process 500 is alice's, in a control group that has a SLUID for its name.
class JobSearches : public ContextTest {
  protected:
    JobSearches() {
        processes.add(500, alice);
        processes.cgroups[500] = core::SlurmCgroup{sluid, std::nullopt};
    }

    void startJob(core::SlurmJobId id, std::optional<core::Sluid> run = std::nullopt) {
        core::NewSlurmJob job{id, alice, "alice", {}};
        job.sluid = run;
        ledger.startJob(job);
    }
    void search() {
        refusals.clear();
        const dbus::Reply<sdbus::ObjectPath> reply{
            sdbus::Result<sdbus::ObjectPath>{received()},
            dbus::Call{row("dev.genv.Manager", "GetEnvironmentByPID"),
                       {":1.7", alice, 500, false},
                       *this,
                       isEnding}};
        reply.guarded([&] { dbus::findEnvironment(context, reply, 500); });
    }
    bool isRefused() const {
        return refusals.size() == 1 && refusals[0].code == ErrorCode::NoSuchEnvironment;
    }

    const core::Sluid sluid{7};
};

TEST_F(JobSearches, FindAJobByTheSluidThatItsPrologTold) {
    startJob(12);
    startJob(13, sluid);
    search();
    EXPECT_TRUE(refusals.empty());
    EXPECT_EQ(slurm.asked, Texts{});
    processes.add(500, bob);
    search();
    EXPECT_TRUE(isRefused()) << "it runs as another user";
}

TEST_F(JobSearches, AskSlurmForAJobWhosePrologDidNotTellIt) {
    startJob(12);
    slurm.numbers = {{sluid, 12}};
    search();
    search();
    EXPECT_EQ(slurm.asked, Texts{"find s0000000000007"}) << "one question for both";
    EXPECT_TRUE(refusals.empty()) << "not before the answer";
    slurm.find();
    EXPECT_TRUE(refusals.empty());
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, sluid);
}

TEST_F(JobSearches, FindNoneWhereSlurmDoesNotKnowTheJob) {
    startJob(12);
    search();
    slurm.find();
    EXPECT_TRUE(isRefused());
    search();
    EXPECT_TRUE(isRefused());
    EXPECT_EQ(slurm.asked.size(), 1U) << "not twice within a minute";
}

TEST_F(JobSearches, AskSlurmNothingWhereAllJobsHaveToldTheirs) {
    startJob(12, core::Sluid{8});
    search();
    EXPECT_TRUE(isRefused());
    EXPECT_EQ(slurm.asked, Texts{});
}

} // namespace
} // namespace genv::tests
