// SPDX-License-Identifier: LGPL-2.1-or-later
// The adapter with real maps, and the effect of its changes on open(2).
#include "core/base/error.hpp"
#include "core/settings/dynamic_uids.hpp"
#include "service/isolation/kernel_gates.hpp"
#include "service/isolation/shared_nodes.hpp"
#include "tests/service/isolation/gate_machine.hpp"
#include "tests/service/isolation/gate_users.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace genv::service {
namespace {

using namespace isolation;
using core::GateMode;
using core::Grant;
using core::Uid;
using tests::alice;
using tests::GateMachine;
using tests::gpu;
using tests::gpuMajor;
using Opening = GateMachine::Opening;

std::string errorOf(const std::function<void()>& act) {
    try {
        act();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::IsolationFailed);
        return error.what();
    }
    return "none";
}

class KernelGatesTest : public testing::Test {
  protected:
    void SetUp() override {
        static const std::string reason = tests::whyNoGate();
        if (!reason.empty())
            GTEST_SKIP() << reason;
        machine_.emplace();
        gates_.emplace(machine_->pins());
    }
    void putUp() { machine_->putUpGate(gpuMajor); }

    std::optional<GateMachine> machine_;
    std::optional<KernelGates> gates_;
};

TEST_F(KernelGatesTest, GrantsAndRevokesBeforeItReturns) {
    putUp();
    gates_->grant({gpu, alice});
    gates_->grant({gpu, alice});
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(gates_->grants(), (std::vector<Grant>{{gpu, alice}}));
    gates_->revoke({gpu, alice});
    gates_->revoke({gpu, alice});
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
    EXPECT_TRUE(gates_->grants().empty());
}

TEST_F(KernelGatesTest, GrantsANodeToEverybody) {
    putUp();
    gates_->grant({gpu, std::nullopt});
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(gates_->grants(), (std::vector<Grant>{{gpu, std::nullopt}}));
}

TEST_F(KernelGatesTest, TakesNoUidThatMeansEverybody) {
    putUp();
    EXPECT_EQ(errorOf([&] {
                  gates_->grant({gpu, 0xffffffff});
              }),
              "4294967295 is not the uid of a user");
    EXPECT_EQ(machine_->open(gpu, alice), Opening::Refused);
}

TEST_F(KernelGatesTest, NeitherListsNorRevokesWhatAllDriversShare) {
    putUp();
    const GateMapSet maps = GateMapSet::open(machine_->pins());
    maps.grants.put({gpuMajor, 255, GENV_ANYONE}, 1);
    EXPECT_TRUE(gates_->grants().empty());
    gates_->revoke({{gpuMajor, 255}, std::nullopt});
    EXPECT_TRUE(maps.grants.find({gpuMajor, 255, GENV_ANYONE}));
}

TEST_F(KernelGatesTest, HasTheModeThatWasSet) {
    putUp();
    EXPECT_EQ(gates_->mode(), GateMode::Refuse);
    for (const GateMode mode : {GateMode::Open, GateMode::Watch, GateMode::Refuse}) {
        gates_->setMode(mode);
        EXPECT_EQ(gates_->mode(), mode);
        EXPECT_EQ(machine_->open(gpu, alice) == Opening::Refused, mode == GateMode::Refuse);
    }
    EXPECT_FALSE(gates_->isSuspended());
    gates_->setSuspended(true);
    EXPECT_TRUE(gates_->isSuspended());
    EXPECT_EQ(gates_->mode(), GateMode::Refuse);
}

TEST_F(KernelGatesTest, GuardsADriversDynamicNumberAndNoOther) {
    putUp();
    EXPECT_TRUE(gates_->guard(gpuMajor));
    const core::DeviceNode instance{509, 200};
    EXPECT_EQ(machine_->open(instance, alice), Opening::LetThrough);
    EXPECT_TRUE(gates_->guard(instance.major));
    EXPECT_EQ(machine_->open(instance, alice), Opening::Refused);
    EXPECT_FALSE(gates_->guard(1)) << "of /dev/null";
    EXPECT_EQ(machine_->open({1, 3}, alice), Opening::LetThrough);
}

TEST_F(KernelGatesTest, ListsWhoWasRefusedWhereAndByWhichProcess) {
    putUp();
    gates_->setMode(GateMode::Watch);
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
    gates_->setMode(GateMode::Refuse);
    const std::filesystem::path path = machine_->pathOf(gpu);
    machine_->inGroup(alice, [&] {
        ::prctl(PR_SET_NAME, "sixteen bytes ok");
        tests::tryToOpen(path);
        tests::tryToOpen(path);
        return 0;
    });
    const std::vector<core::RefusedOpens> refusals = gates_->refusals();
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].uid, alice);
    EXPECT_EQ(refusals[0].node, gpu);
    EXPECT_EQ(refusals[0].counts, (core::OpenCounts{2, 1}));
    EXPECT_GT(refusals[0].last, core::BootTime{});
    EXPECT_EQ(refusals[0].command, refusals[0].pid == 0 ? "" : "sixteen bytes o");
}

TEST_F(KernelGatesTest, SaysWhyThereIsNoGate) {
    const std::string pins = machine_->pins().string();
    EXPECT_EQ(gates_->absence(), "genv-isolation.service has not run or failed");
    EXPECT_EQ(errorOf([&] {
                  gates_->grant({gpu, alice});
              }),
              "cannot open device node 195:200 for uid 4001: isolation is not in force: "
              "genv-isolation.service has not run or failed");
    KernelGates nowhere("/proc/genv");
    EXPECT_EQ(nowhere.absence(), "no BPF file system is mounted on /proc");

    putUp();
    EXPECT_EQ(gates_->absence(), "");
    std::filesystem::remove(machine_->pins() / linkPin);
    EXPECT_EQ(gates_->absence(), "genv-isolation.service failed, or its files were removed (" +
                                     pins + "/link: No such file or directory)");
}

TEST_F(KernelGatesTest, NoticesThatItWasTakenAwayAndThatAnotherStands) {
    putUp();
    gates_->grant({gpu, alice});
    std::filesystem::remove_all(machine_->pins());
    EXPECT_NE(gates_->absence(), "");
    EXPECT_NE(errorOf([&] { (void)gates_->grants(); }), "none");
    putUp();
    EXPECT_EQ(gates_->absence(), "");
    EXPECT_TRUE(gates_->grants().empty()) << "these are other maps";
    gates_->grant({gpu, alice});
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
}

TEST_F(KernelGatesTest, NoticesThatAnotherStandsThoughItDidNotSeeTheOneGo) {
    putUp();
    gates_->grant({gpu, alice});
    const std::uint64_t before = gates_->generation();
    EXPECT_EQ(gates_->absence(), "");
    EXPECT_EQ(gates_->generation(), before);
    std::filesystem::remove_all(machine_->pins());
    putUp();
    EXPECT_EQ(gates_->absence(), "");
    EXPECT_NE(gates_->generation(), before);
    gates_->grant({gpu, alice});
    EXPECT_EQ(machine_->open(gpu, alice), Opening::LetThrough);
}

TEST_F(KernelGatesTest, TakesNoMapOfAnotherLayout) {
    putUp();
    const std::filesystem::path pin = machine_->pins() / pinName(GateMap::Refusals);
    std::filesystem::remove(pin);
    MapLayout larger = layoutOf(GateMap::Refusals);
    larger.valueSize = 4096;
    UntypedMap::create(larger).pin(pin);
    EXPECT_EQ(gates_->absence(), pin.string() + " was made by another version of genv; run "
                                                "\"systemctl restart genv-isolation genvd\"");
    EXPECT_TRUE(gates_->isUnusable());
    std::filesystem::remove(pin);
    EXPECT_NE(gates_->absence(), "");
    EXPECT_FALSE(gates_->isUnusable()) << "where one pin is missing, none stands";
}

TEST_F(KernelGatesTest, SaysThatTheTableOfGrantsIsFull) {
    putUp();
    for (Uid uid = 1; uid <= GENV_MAX_GRANTS; ++uid)
        gates_->grant({gpu, uid});
    EXPECT_EQ(errorOf([&] {
                  gates_->grant({gpu, GENV_MAX_GRANTS + 1});
              }),
              "cannot open device node 195:200 for uid 65537: cannot write to a map: Argument list "
              "too long; the kernel's table for it is full");
    EXPECT_EQ(gates_->grants().size(), std::size_t{GENV_MAX_GRANTS});
    gates_->revoke({gpu, 1});
    gates_->grant({gpu, GENV_MAX_GRANTS + 1});
    EXPECT_EQ(machine_->open(gpu, GENV_MAX_GRANTS + 1), Opening::LetThrough);
}

TEST_F(KernelGatesTest, GuardsExactlyTheRenderNodesThatItIsGiven) {
    putUp();
    const core::DeviceNode one{drmMajor, 200};
    const core::DeviceNode other{drmMajor, 201};
    EXPECT_FALSE(gates_->guardRenderNodes({one})) << "the loader did not want it";
    EXPECT_NE(machine_->open(one, alice), Opening::Refused);
    GateMapSet::open(machine_->pins()).majors.put(drmMajor, GENV_GUARD_LISTED);
    EXPECT_TRUE(gates_->guardRenderNodes({one, gpu}));
    EXPECT_EQ(machine_->open(one, alice), Opening::Refused);
    EXPECT_NE(machine_->open(other, alice), Opening::Refused);
    EXPECT_TRUE(gates_->grants().empty());
    gates_->grant({one, alice});
    EXPECT_NE(machine_->open(one, alice), Opening::Refused);
    EXPECT_EQ(gates_->grants(), (std::vector<Grant>{{one, alice}}));
    EXPECT_TRUE(gates_->guardRenderNodes({other}));
    EXPECT_NE(machine_->open(one, tests::bob), Opening::Refused);
    EXPECT_EQ(machine_->open(other, tests::bob), Opening::Refused);
    EXPECT_FALSE(gates_->guard(drmMajor)) << "never all nodes of DRM";
    EXPECT_NE(machine_->open({drmMajor, 0}, alice), Opening::Refused);
    EXPECT_NE(errorOf([&] { gates_->grant({one, GENV_LISTED}); }), "none");
}

TEST_F(KernelGatesTest, TellsWhoseGrantsCountForAUid) {
    putUp();
    std::vector<IdentityBlock> blocks = blocksOf(100000, 165535, alice);
    const std::vector<IdentityBlock> exempt = blocksOf(1, 999, std::nullopt);
    blocks.insert(blocks.end(), exempt.begin(), exempt.end());
    gates_->setIdentities(blocks);
    EXPECT_EQ(gates_->granteeOf(alice), alice);
    EXPECT_EQ(gates_->granteeOf(100004), alice);
    EXPECT_EQ(gates_->granteeOf(999), std::nullopt);
    EXPECT_EQ(gates_->granteeOf(1000), 1000U);
}

TEST_F(KernelGatesTest, FindsThePeopleAmongTheUidsOfServices) {
    putUp();
    const Uid first = core::dynamicUids.first;
    const Uid person = first + 7;
    std::vector<IdentityBlock> blocks = blocksOf(person, person, person);
    const auto add = [&](Uid from, Uid to, Uid owner) {
        const std::vector<IdentityBlock> others = blocksOf(from, to, owner);
        blocks.insert(blocks.end(), others.begin(), others.end());
    };
    add(1000, 1000, 1000);                   // no uid of services
    add(first + 9, first + 9, alice);        // whose grants are alice's
    add(first + 16, first + 31, first + 16); // a range
    gates_->setIdentities(blocks);
    EXPECT_EQ(gates_->people(), std::set<Uid>{person});
}

TEST_F(KernelGatesTest, MakesTheIdentitiesWhatIsWanted) {
    putUp();
    gates_->grant({gpu, alice});
    std::vector<IdentityBlock> wanted = blocksOf(100000, 165535, alice);
    gates_->setIdentities(wanted);
    const GateMapSet maps = GateMapSet::open(machine_->pins());
    const auto there = [&] {
        std::vector<IdentityBlock> blocks = readIdentities(maps.identities);
        std::ranges::sort(blocks);
        return blocks;
    };
    EXPECT_EQ(there(), wanted);
    EXPECT_EQ(machine_->open(gpu, 165535), Opening::LetThrough);

    wanted = blocksOf(100000, 131071, tests::bob);
    const std::vector<IdentityBlock> exempt = blocksOf(1, 999, std::nullopt);
    wanted.insert(wanted.end(), exempt.begin(), exempt.end());
    std::ranges::sort(wanted);
    gates_->setIdentities(wanted);
    EXPECT_EQ(there(), wanted);
    EXPECT_EQ(machine_->open(gpu, 165535), Opening::Refused);
    EXPECT_EQ(machine_->open(gpu, 100000), Opening::Refused);
    EXPECT_EQ(machine_->open(gpu, 999), Opening::LetThrough);
    gates_->setIdentities({});
    EXPECT_TRUE(there().empty());
}

} // namespace
} // namespace genv::service
