// SPDX-License-Identifier: LGPL-2.1-or-later
// Which environment a process belongs to, and which claims are not believed.
#include "core/membership.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

class Membership : public LedgerTest {
  protected:
    Membership() {
        activate("10", alice);
        activate("20", bob);
    }

    std::string of(const core::ComputeProcess& process) {
        const core::Environment* environment = core::environmentOf(core::lookupIn(ledger), process);
        return environment != nullptr ? environment->id : "";
    }
    static core::ComputeProcess process(core::Uid uid,
                                        std::vector<core::ProcessIdentity> ancestors = {},
                                        std::optional<std::string> hint = std::nullopt) {
        core::ComputeProcess result = computeProcess(500, uid, {"GPU-0"});
        result.ancestors = std::move(ancestors);
        result.environmentHint = std::move(hint);
        return result;
    }
};

TEST_F(Membership, IsARootProcessItself) {
    core::ComputeProcess root = process(alice);
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
    // Bob became alice, who became bob: the process is bob's, and started in bob's environment.
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
    core::ComputeProcess half = process(alice, {}, "20");
    half.facts.uids.effective = bob;
    EXPECT_EQ(of(half), "") << "all its uids, not one";
}

TEST_F(Membership, OfAContainersRootIsWhatItSays) {
    EXPECT_EQ(of(process(root, {}, "10")), "10");
}

TEST_F(Membership, OfARootlessContainerNeedsTheOwnersUserNamespace) {
    core::ComputeProcess contained = process(100'000, {}, "10");
    EXPECT_EQ(of(contained), "");
    contained.userNamespaceOwner = bob;
    EXPECT_EQ(of(contained), "");
    contained.userNamespaceOwner = alice;
    EXPECT_EQ(of(contained), "10");
}

TEST_F(Membership, InAnEnvironmentThatDoesNotExistIsNone) {
    EXPECT_EQ(of(process(alice, {}, "99")), "");
    EXPECT_EQ(of(process(alice, {}, "")), "");
    EXPECT_EQ(of(process(alice, {}, "../10")), "");
}

TEST_F(Membership, CanBeAskedOfAnEnvironmentThatEnded) {
    const core::Environment former = ledger.get("10");
    processes.exit(10);
    const core::ComputeProcess child = process(alice, {{10, 7}});
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

core::ComputeProcess inNamespaceOf(core::Uid owner, const core::ProcessUids& uids) {
    core::ComputeProcess process;
    process.facts.uids = uids;
    process.userNamespaceOwner = owner;
    return process;
}

TEST(ComputeProcesses, AreTheirsWhoMadeTheUserNamespaceWhateverTheUidThere) {
    constexpr core::Uid subordinate = 100'004;
    for (const core::ProcessUids& uids :
         {core::ProcessUids{subordinate, subordinate, subordinate, subordinate},
          core::ProcessUids{alice, subordinate, subordinate, alice}}) {
        const core::ComputeProcess process = inNamespaceOf(alice, uids);
        EXPECT_EQ(process.user(), alice);
        EXPECT_EQ(process.ownerFor(alice), alice);
        EXPECT_EQ(process.ownerFor(bob), alice) << "who is asked about is a person with a name";
    }
    core::ComputeProcess elsewhere;
    elsewhere.facts.uids = {subordinate, subordinate, subordinate, subordinate};
    EXPECT_EQ(elsewhere.user(), subordinate);
    EXPECT_EQ(elsewhere.ownerFor(alice), subordinate);
}

TEST(ComputeProcesses, WithAUidOfRootsAreNobodyElsesByTheirUserNamespace) {
    for (const core::ProcessUids& uids :
         {core::ProcessUids{0, 0, 0, 0}, core::ProcessUids{alice, alice, 0, alice}}) {
        const core::ComputeProcess process = inNamespaceOf(alice, uids);
        EXPECT_EQ(process.user(), uids.real);
        EXPECT_EQ(process.ownerFor(alice), 0U);
    }
}

TEST(ComputeProcesses, StayTheirsWhoseUidsTheyHave) {
    const core::ComputeProcess process = inNamespaceOf(bob, {alice, alice, alice, alice});
    EXPECT_EQ(process.ownerFor(alice), alice);
    EXPECT_EQ(process.ownerFor(bob), bob) << "the kernel lets bob end it, too";
}

} // namespace
} // namespace genv::tests
