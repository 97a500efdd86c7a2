// SPDX-License-Identifier: LGPL-2.1-or-later
// The environment of a process, and the claims that are not trusted.
#include "core/ledger/membership.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

class Membership : public LedgerTest {
  protected:
    Membership() {
        activate("10", alice);
        activate("20", bob);
    }

    std::string of(const core::ObservedProcess& process) {
        const core::EnvironmentRecord* environment =
            core::environmentOf(core::lookupIn(ledger), process);
        return environment != nullptr ? environment->id : "";
    }
    static core::ObservedProcess process(core::Uid uid,
                                         std::vector<core::ProcessIdentity> ancestors = {},
                                         const std::optional<std::string>& id = std::nullopt) {
        core::ObservedProcess result = computeProcess(500, uid, {"GPU-0"});
        result.ancestors = std::move(ancestors);
        if (id)
            result.environmentHint = core::EnvironmentHint{*id, std::nullopt};
        return result;
    }
    /// Makes a process that starts now with the variables of an environment, and no ancestor in it.
    core::ObservedProcess stamped(core::Uid uid, const std::string& id) {
        core::ObservedProcess result = process(uid, {}, id);
        result.environmentHint->created = ledger.get(id).created;
        result.facts.identity.startTime = ticksNow();
        return result;
    }
    std::uint64_t ticksNow() const {
        return static_cast<std::uint64_t>(clock.boot.time_since_epoch() /
                                          std::chrono::milliseconds{10});
    }
    /// Ends an environment and activates another one with its id a moment later.
    void replace(const std::string& id, core::Uid owner) {
        processes.exit(static_cast<core::Pid>(std::stoul(id)));
        clock.pass(std::chrono::milliseconds{10});
        processes.add(90, owner);
        ledger.activate(
            {id, owner, "other", {}, {core::adopt(processes.pin(90), owner, owner)}, {}},
            std::nullopt, owner);
    }
};

TEST_F(Membership, IsARootProcessItself) {
    core::ObservedProcess root = process(alice);
    root.facts.identity = {10, 7};
    EXPECT_EQ(of(root), "10");
    root.facts.identity = {10, 8};
    EXPECT_EQ(of(root), "") << "a recycled pid is no root process";
}

TEST_F(Membership, IsADescendantWithTheOwnersUidOrRoot) {
    EXPECT_EQ(of(process(alice, {{400, 7}, {10, 7}})), "10");
    EXPECT_EQ(of(process(root, {{400, 7}, {10, 7}})), "10");
    EXPECT_EQ(of(process(bob, {{400, 7}, {10, 7}})), "") << "alice's su to bob is not hers";
    EXPECT_EQ(of(process(alice, {{400, 7}, {10, 8}})), "") << "a recycled ancestor is none";
}

TEST_F(Membership, GoesToTheNearestRootProcess) {
    processes.add(30, alice);
    ledger.activate({"30", alice, "alice", {}, {core::adopt(processes.pin(30), alice, alice)}, {}},
                    std::nullopt, alice);
    EXPECT_EQ(of(process(alice, {{30, 7}, {10, 7}})), "30");
}

TEST_F(Membership, GoesPastARootProcessOfSomebodyElse) {
    // Bob switched to alice, who switched to bob. The process is bob's, and started in bob's
    // environment.
    EXPECT_EQ(of(process(bob, {{400, 7}, {10, 7}, {20, 7}})), "20");
    EXPECT_EQ(of(process(root, {{10, 7}, {20, 7}})), "10");
}

TEST_F(Membership, StaysWithADescendantThatClearedItsEnvironmentVariables) {
    EXPECT_EQ(of(process(alice, {{10, 7}}, std::nullopt)), "10");
}

TEST_F(Membership, IsByDescentBeforeAnyClaim) {
    EXPECT_EQ(of(process(alice, {{10, 7}}, "20")), "10");
    EXPECT_EQ(of(process(root, {{10, 7}}, "20")), "10");
}

TEST_F(Membership, OfADaemonisedChildIsWhatItSays) {
    EXPECT_EQ(of(process(alice, {}, "10")), "10");
    EXPECT_EQ(of(process(alice, {}, std::nullopt)), "");
}

TEST_F(Membership, InSomebodyElsesEnvironmentIsNotBelieved) {
    EXPECT_EQ(of(process(alice, {}, "20")), "");
    core::ObservedProcess half = process(alice, {}, "20");
    half.facts.uids.effective = bob;
    EXPECT_EQ(of(half), "") << "all its uids, not one";
}

TEST_F(Membership, OfAContainersRootIsWhatItSaysWithTheStamp) {
    EXPECT_EQ(of(stamped(root, "10")), "10");
    EXPECT_EQ(of(process(root, {}, "10")), "") << "an id alone may be another environment's by now";
}

TEST_F(Membership, WithTheStampOfAnotherEnvironmentIsNone) {
    for (const core::Uid uid : {root, alice}) {
        core::ObservedProcess stale = stamped(uid, "10");
        *stale.environmentHint->created -= std::chrono::microseconds{1};
        EXPECT_EQ(of(stale), "") << "also where all its uids are the owner's";
    }
    EXPECT_EQ(of(stamped(bob, "10")), "") << "the stamp is public: it proves nothing of a uid";
}

TEST_F(Membership, EndsWithTheEnvironmentThatTheStampNames) {
    const core::ObservedProcess container = stamped(root, "10");
    const core::ObservedProcess own = stamped(alice, "10");
    const core::ObservedProcess unstamped = process(root, {}, "10");
    replace("10", bob);
    EXPECT_EQ(of(container), "");
    EXPECT_EQ(of(unstamped), "");
    EXPECT_EQ(of(stamped(root, "10")), "10") << "a container of the one that has the id now";
    processes.exit(90);
    clock.pass(std::chrono::milliseconds{10});
    processes.add(10, alice, 8);
    ledger.activate({"10", alice, "alice", {}, {core::adopt(processes.pin(10), alice, alice)}, {}},
                    std::nullopt, alice);
    EXPECT_EQ(of(own), "") << "alice's, who has another environment under that id";
    EXPECT_EQ(of(process(alice, {}, "10")), "10") << "a shell of before there was a stamp";
}

TEST_F(Membership, WithAStampNeedsAStartThatIsNoEarlier) {
    core::ObservedProcess container = stamped(root, "10");
    EXPECT_EQ(of(container), "10") << "in the clock tick in which the environment was created";
    --container.facts.identity.startTime;
    EXPECT_EQ(of(container), "") << "a wall clock that was set back may come by a moment twice";
}

TEST_F(Membership, OutlastsAWallClockThatIsSet) {
    core::ObservedProcess container = stamped(root, "10");
    clock.wall -= std::chrono::hours{1};
    EXPECT_EQ(of(container), "10");
    ++container.facts.identity.startTime;
    EXPECT_EQ(of(container), "10");
}

TEST_F(Membership, OfAContainerThatWasStartedDuringAWaitIsKept) {
    haveGpus(1);
    attachCount("20", 1);
    core::NewEnvironment wanted = newEnvironment("30", alice, 30);
    const core::AttachRequest request{core::CountWanted{1}, std::nullopt, std::nullopt, false};
    ledger.activate(std::move(wanted), core::PlannedWait{request, {}}, alice);
    const core::ObservedProcess container = stamped(root, "30");
    clock.pass(std::chrono::hours{1});
    processes.exit(20);
    const std::uint64_t ticket = ledger.get("30").waits.front().ticket;
    ledger.grant(ticket, planned("30", request));
    ASSERT_EQ(devicesOf("30"), (std::vector<core::DeviceIndex>{0}));
    EXPECT_EQ(of(container), "30") << "its lifetime begins later than it was created";
}

TEST_F(Membership, OfARootlessContainerNeedsTheOwnersUserNamespace) {
    core::ObservedProcess contained = stamped(100'000, "10");
    EXPECT_EQ(of(contained), "");
    contained.userNamespaceOwner = bob;
    EXPECT_EQ(of(contained), "");
    contained.userNamespaceOwner = alice;
    EXPECT_EQ(of(contained), "10");
    contained.environmentHint->created.reset();
    EXPECT_EQ(of(contained), "") << "without a stamp all its uids must be the owner's";
}

TEST_F(Membership, InAnEnvironmentThatDoesNotExistIsNone) {
    EXPECT_EQ(of(process(alice, {}, "99")), "");
    EXPECT_EQ(of(process(alice, {}, "")), "");
    EXPECT_EQ(of(process(alice, {}, "../10")), "");
}

TEST_F(Membership, CanBeAskedOfAnEnvironmentThatEnded) {
    const core::EnvironmentRecord former = ledger.get("10");
    processes.exit(10);
    const core::ObservedProcess child = process(alice, {{10, 7}});
    EXPECT_EQ(of(child), "");
    EXPECT_EQ(core::environmentOf(core::lookupIn(ledger, former), child), &former);
    EXPECT_EQ(core::environmentOf(core::lookupIn(ledger, former), process(alice, {}, "10")),
              &former);
    EXPECT_EQ(core::environmentOf(core::lookupIn(ledger, former), process(bob, {{20, 7}}))->id,
              "20");
}

TEST(ProcessUids, BelongToSomebodyOnlyWhenAllAreTheirs) {
    const core::ProcessUids own{alice, alice, alice, alice};
    EXPECT_EQ(own.ownerFor(alice), alice);
    EXPECT_EQ(own.ownerFor(bob), alice);
    for (const core::ProcessUids& mixed :
         {core::ProcessUids{bob, alice, alice, alice}, core::ProcessUids{alice, bob, alice, alice},
          core::ProcessUids{alice, alice, bob, alice},
          core::ProcessUids{alice, alice, alice, bob}}) {
        EXPECT_EQ(mixed.ownerFor(alice), bob) << "it could still become bob, so it is not alice's";
        EXPECT_FALSE(mixed.areAll(alice));
    }
}

core::ObservedProcess inNamespaceOf(core::Uid owner, const core::ProcessUids& uids) {
    core::ObservedProcess process;
    process.facts.uids = uids;
    process.userNamespaceOwner = owner;
    return process;
}

TEST(ComputeProcesses, AreTheirsWhoMadeTheUserNamespaceWhateverTheUidThere) {
    constexpr core::Uid subordinate = 100'004;
    for (const core::ProcessUids& uids :
         {core::ProcessUids{subordinate, subordinate, subordinate, subordinate},
          core::ProcessUids{alice, subordinate, subordinate, alice}}) {
        const core::ObservedProcess process = inNamespaceOf(alice, uids);
        EXPECT_EQ(process.user(), alice);
        EXPECT_EQ(process.ownerFor(alice), alice);
        EXPECT_EQ(process.ownerFor(bob), alice) << "who is asked about is a person with a name";
    }
    core::ObservedProcess elsewhere;
    elsewhere.facts.uids = {subordinate, subordinate, subordinate, subordinate};
    EXPECT_EQ(elsewhere.user(), subordinate);
    EXPECT_EQ(elsewhere.ownerFor(alice), subordinate);
}

TEST(ComputeProcesses, WithAUidOfRootsAreNobodyElsesByTheirUserNamespace) {
    for (const core::ProcessUids& uids :
         {core::ProcessUids{0, 0, 0, 0}, core::ProcessUids{alice, alice, 0, alice}}) {
        const core::ObservedProcess process = inNamespaceOf(alice, uids);
        EXPECT_EQ(process.user(), uids.real);
        EXPECT_EQ(process.ownerFor(alice), 0U);
    }
}

TEST(ComputeProcesses, StayTheirsWhoseUidsTheyHave) {
    const core::ObservedProcess process = inNamespaceOf(bob, {alice, alice, alice, alice});
    EXPECT_EQ(process.ownerFor(alice), alice);
    EXPECT_EQ(process.ownerFor(bob), bob) << "the kernel lets bob end it, too";
}

TEST_F(Membership, IsThatOfAJobInItsControlGroupWhateverTheVariablesSay) {
    ledger.startJob({12, alice, "alice", {}});
    core::ObservedProcess inJob = process(alice);
    inJob.slurm = core::SlurmCgroup{12U, std::nullopt};
    EXPECT_EQ(of(inJob), "slurm-12");
    inJob.environmentHint = core::EnvironmentHint{"10", std::nullopt};
    EXPECT_EQ(of(inJob), "slurm-12") << "a fact comes before what the process says";
    inJob.slurm->owner = alice;
    EXPECT_EQ(of(inJob), "slurm-12");
    inJob.slurm->job = 13U;
    EXPECT_EQ(of(inJob), "10") << "a job that genv does not know";
}

TEST_F(Membership, IsThatOfAJobWhoseSluidItsControlGroupHas) {
    const core::Sluid sluid{7};
    core::ObservedProcess inJob = process(alice);
    inJob.slurm = core::SlurmCgroup{sluid, std::nullopt};
    EXPECT_EQ(of(inJob), "") << "no job has it";
    core::NewSlurmJob job{12, alice, "alice", {}};
    job.sluid = sluid;
    ledger.startJob(job);
    EXPECT_EQ(of(inJob), "slurm-12");
    inJob.environmentHint = core::EnvironmentHint{"10", std::nullopt};
    EXPECT_EQ(of(inJob), "slurm-12") << "a fact comes before what the process says";
    inJob.facts.uids = {bob, bob, bob, bob};
    EXPECT_EQ(of(inJob), "") << "it runs as another user";
    inJob = process(alice);
    inJob.slurm = core::SlurmCgroup{12U, std::nullopt};
    EXPECT_EQ(of(inJob), "slurm-12") << "CgroupJobIdPaths=yes";
    inJob.slurm = core::SlurmCgroup{core::Sluid{8}, std::nullopt};
    EXPECT_EQ(of(inJob), "");
    ledger.deactivate("slurm-12", root);
    inJob.slurm = core::SlurmCgroup{sluid, std::nullopt};
    EXPECT_EQ(of(inJob), "");
}

TEST_F(Membership, OfAJobsControlGroupNeedsTheOwnersUidsOrRoots) {
    ledger.startJob({12, alice, "alice", {}});
    const auto inJob = [&](core::Uid uid, std::optional<core::Uid> owner) {
        core::ObservedProcess result = process(uid);
        result.slurm = core::SlurmCgroup{12U, owner};
        return result;
    };
    EXPECT_EQ(of(inJob(root, std::nullopt)), "slurm-12");
    EXPECT_EQ(of(inJob(bob, std::nullopt)), "");
    EXPECT_EQ(of(inJob(alice, bob)), "") << "the path names another owner";
    core::ObservedProcess mixed = inJob(alice, std::nullopt);
    mixed.facts.uids.saved = 0;
    EXPECT_EQ(of(mixed), "slurm-12");
    mixed.facts.uids.saved = bob;
    EXPECT_EQ(of(mixed), "");
}

TEST_F(Membership, IsTheEnvironmentWithinAJobBeforeTheJob) {
    ledger.startJob({12, alice, "alice", {}});
    core::ObservedProcess inside = process(alice, {{10, 7}});
    inside.slurm = core::SlurmCgroup{12U, std::nullopt};
    EXPECT_EQ(of(inside), "10");
}

TEST_F(Membership, OfAJobIsNoEnvironmentThatOnlyHasItsId) {
    processes.add(30, alice);
    ledger.activate(
        {"slurm-13", alice, "alice", {}, {core::adopt(processes.pin(30), alice, alice)}, {}},
        std::nullopt, root);
    core::ObservedProcess inJob = process(alice);
    inJob.slurm = core::SlurmCgroup{13U, std::nullopt};
    EXPECT_EQ(of(inJob), "");
}

} // namespace
} // namespace genv::tests
