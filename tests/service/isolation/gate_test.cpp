// SPDX-License-Identifier: LGPL-2.1-or-later
// The BPF program as the kernel runs it: each of its decisions.
#include "service/isolation/identity_map.hpp"
#include "tests/service/isolation/gate_machine.hpp"
#include "tests/service/isolation/gate_users.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ctime>
#include <optional>

namespace genv::service::isolation {
namespace {

using core::DeviceNode;
using core::Uid;
using tests::alice;
using tests::bob;
using tests::GateMachine;
using tests::gpu;
using tests::gpuMajor;
using tests::otherGpu;
using Opening = GateMachine::Opening;

class Gate : public testing::Test {
  protected:
    void SetUp() override {
        static const std::string reason = tests::whyNoGate();
        if (!reason.empty())
            GTEST_SKIP() << reason;
        machine_.emplace();
        machine_->putUpGate(gpuMajor);
        maps_ = GateMapSet::open(machine_->pins());
    }

    void grant(DeviceNode node, Uid uid) { maps_.grants.put({node.major, node.minor, uid}, 1); }
    Opening open(DeviceNode node, Uid uid) { return machine_->open(node, uid); }
    std::optional<genv_refusal> refusalOf(Uid uid, DeviceNode node) {
        return maps_.refusals.find({uid, node.major, node.minor});
    }
    void putIdentity(Uid first, Uid last, std::optional<Uid> owner) {
        for (const IdentityBlock& block : blocksOf(first, last, owner))
            maps_.identities.put({block.prefixLength, __builtin_bswap32(block.first)},
                                 block.owner.value_or(GENV_EXEMPT));
    }

    std::optional<GateMachine> machine_;
    GateMapSet maps_;
};

TEST_F(Gate, RefusesWhoHasNoGrant) {
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
    EXPECT_EQ(open(gpu, 65534), Opening::Refused);
}

TEST_F(Gate, OpensForWhoHasAGrantAndForNobodyElse) {
    grant(gpu, alice);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(open(gpu, bob), Opening::Refused);
    EXPECT_EQ(open(otherGpu, alice), Opening::Refused);
    maps_.grants.remove({gpu.major, gpu.minor, alice});
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
}

TEST_F(Gate, OpensForEverybodyWhatIsGrantedToAnyone) {
    grant(gpu, GENV_ANYONE);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(open(otherGpu, alice), Opening::Refused);
}

// The major of DRM belongs to the drivers of all makers.
TEST_F(Gate, GuardsOnlyTheListedNodesOfAMajorThatIsGuardedByList) {
    maps_.majors.put(gpuMajor, GENV_GUARD_LISTED);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    grant(gpu, GENV_LISTED);
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
    EXPECT_EQ(open(otherGpu, alice), Opening::LetThrough);
    EXPECT_FALSE(refusalOf(alice, otherGpu));
    grant(gpu, alice);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    EXPECT_EQ(open(gpu, bob), Opening::Refused);
    maps_.grants.remove({gpu.major, gpu.minor, GENV_LISTED});
    EXPECT_EQ(open(gpu, bob), Opening::LetThrough);
}

TEST_F(Gate, OpensForRoot) {
    EXPECT_EQ(open(gpu, 0), Opening::LetThrough);
}

TEST_F(Gate, GoesByTheRealUidOfAProgramWithTheSetuidBit) {
    EXPECT_EQ(machine_->open(gpu, alice, 0), Opening::Refused);
    grant(gpu, alice);
    EXPECT_EQ(machine_->open(gpu, alice, bob), Opening::LetThrough);
    EXPECT_EQ(machine_->open(gpu, bob, alice), Opening::Refused);
}

TEST_F(Gate, TakesSubordinateUidsForTheirOwner) {
    putIdentity(100000, 165535, alice);
    EXPECT_EQ(open(gpu, 100005), Opening::Refused);
    grant(gpu, alice);
    for (const Uid uid : {100000U, 100005U, 165535U})
        EXPECT_EQ(open(gpu, uid), Opening::LetThrough) << uid;
    for (const Uid uid : {99999U, 165536U})
        EXPECT_EQ(open(gpu, uid), Opening::Refused) << uid;
}

TEST_F(Gate, LetsTheNarrowerBlockDecide) {
    putIdentity(65536, 131071, alice);
    putIdentity(70000, 70000, bob);
    grant(gpu, alice);
    EXPECT_EQ(open(gpu, 69999), Opening::LetThrough);
    EXPECT_EQ(open(gpu, 70000), Opening::Refused);
}

TEST_F(Gate, OpensByTheOwnGrantOfAUidThatIsAlsoSubordinate) {
    putIdentity(100000, 165535, alice);
    grant(gpu, 100500);
    EXPECT_EQ(open(gpu, 100500), Opening::LetThrough);
    EXPECT_EQ(open(gpu, 100501), Opening::Refused);
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
}

TEST_F(Gate, OpensForExemptUids) {
    putIdentity(61184, 65519, std::nullopt);
    for (const Uid uid : {61184U, 65519U})
        EXPECT_EQ(open(gpu, uid), Opening::LetThrough) << uid;
    for (const Uid uid : {61183U, 65520U, 65534U})
        EXPECT_EQ(open(gpu, uid), Opening::Refused) << uid;
}

TEST_F(Gate, LetsNodesBeMade) {
    const std::filesystem::path place = machine_->pathOf(gpu).parent_path() / "made";
    // A setuid program that a user runs, such as nvidia-modprobe.
    const int status = machine_->inGroup(
        alice,
        [&] {
            return ::mknod(place.c_str(), S_IFCHR | 0666, ::makedev(gpuMajor, 202)) == 0 ? 0 : 1;
        },
        0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::is_character_file(place));
}

TEST_F(Gate, LeavesOtherDevicesAlone) {
    EXPECT_EQ(open({1, 3}, alice), Opening::LetThrough); // /dev/null
    EXPECT_EQ(open({196, gpu.minor}, alice), Opening::LetThrough);
    maps_.majors.put(196, 1);
    EXPECT_EQ(open({196, gpu.minor}, alice), Opening::Refused);
}

TEST_F(Gate, CountsButLetsThroughInWatchMode) {
    maps_.mode.put(GENV_MODE_ENTRY, GENV_MODE_WATCH);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    ASSERT_TRUE(refusalOf(alice, gpu));
    EXPECT_EQ(refusalOf(alice, gpu)->watched, 1U);
    EXPECT_EQ(refusalOf(alice, gpu)->refused, 0U);
}

TEST_F(Gate, CountsNobodyWhileItIsOpen) {
    maps_.mode.put(GENV_MODE_ENTRY, GENV_MODE_OPEN);
    EXPECT_EQ(open(gpu, alice), Opening::LetThrough);
    EXPECT_FALSE(refusalOf(alice, gpu));
    maps_.mode.put(GENV_MODE_ENTRY, GENV_MODE_REFUSE);
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
}

TEST_F(Gate, CountsRefusalsWithTheLastProcess) {
    open(gpu, alice);
    const std::filesystem::path path = machine_->pathOf(gpu);
    const int pid = machine_->inGroup(alice, [&] {
        ::prctl(PR_SET_NAME, "train.py");
        tests::tryToOpen(path);
        return static_cast<int>(static_cast<unsigned>(::getpid()) & 0x7f);
    });
    const std::optional<genv_refusal> refusal = refusalOf(alice, gpu);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->refused, 2U);
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    EXPECT_GT(refusal->last, 0U);
    EXPECT_LE(refusal->last, static_cast<std::uint64_t>(now.tv_sec + 1) * 1'000'000'000);
    EXPECT_FALSE(refusalOf(bob, gpu));
    if (!tests::kernelReportsProcess())
        return;
    // The kernel reports the machine's PID, which a process in a PID namespace does not know.
    if (tests::isInFirstPidNamespace()) {
        EXPECT_EQ(refusal->pid & 0x7f, static_cast<std::uint32_t>(pid));
    } else {
        EXPECT_NE(refusal->pid, 0U);
    }
    EXPECT_STREQ(refusal->command, "train.py");
}

TEST_F(Gate, CountsSubordinateUidsAsTheirOwner) {
    putIdentity(100000, 165535, alice);
    open(gpu, 100005);
    open(gpu, 100006);
    ASSERT_TRUE(refusalOf(alice, gpu));
    EXPECT_EQ(refusalOf(alice, gpu)->refused, 2U);
    EXPECT_FALSE(refusalOf(100005, gpu));
}

// Kernels before 6.1 report it to no program of this type, later kernels only with CAP_PERFMON.
TEST_F(Gate, StandsAlsoWhereTheKernelDoesNotSayWhichProcessItWas) {
    machine_.emplace();
    const int status = machine_->inGroup(0, [&] {
        tests::keepOnlyCapabilities({CAP_BPF, CAP_NET_ADMIN});
        machine_->putUpGate(gpuMajor);
        return 0;
    });
    ASSERT_EQ(status, 0);
    maps_ = GateMapSet::open(machine_->pins());
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
    ASSERT_TRUE(refusalOf(alice, gpu));
    EXPECT_EQ(refusalOf(alice, gpu)->refused, 1U);
    EXPECT_EQ(refusalOf(alice, gpu)->pid, 0U);
    EXPECT_STREQ(refusalOf(alice, gpu)->command, "");
}

TEST_F(Gate, StaysWhenEverythingButItsPinIsGone) {
    maps_ = {};
    EXPECT_EQ(open(gpu, alice), Opening::Refused);
    std::filesystem::remove_all(machine_->pins());
    EXPECT_EQ(machine_->openWithoutGate(gpu, alice), Opening::LetThrough);
}

} // namespace
} // namespace genv::service::isolation
