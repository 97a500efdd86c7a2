// SPDX-License-Identifier: LGPL-2.1-or-later
// The checks of the process of a request, with the rights of this process.
#include "core/base/error.hpp"
#include "service/park/park_target.hpp"
#include "service/processes/proc_files.hpp"
#include "service/processes/proc_text.hpp"
#include "tests/service/child.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace genv::service {
namespace {

using core::ParkingFault;

core::ParkingTarget ownTargetOf(core::Pid pid) {
    return {readIdentity(pid).value_or(core::ProcessIdentity{}), ::getuid()};
}

TEST(ParkTarget, TellsTheOwnerAndNoObjection) {
    const tests::Child child;
    const auto target = ParkTarget::open(ownTargetOf(child.pid()));
    ASSERT_TRUE(target);
    const auto owner = target->owner();
    ASSERT_TRUE(std::holds_alternative<ParkOwner>(owner));
    EXPECT_EQ(std::get<ParkOwner>(owner), (ParkOwner{::getuid(), ::getgid()}));
    EXPECT_EQ(target->objection(std::get<ParkOwner>(owner)), std::nullopt);
    EXPECT_EQ(target->objection({::getuid() + 1, ::getgid()}), ParkingFault::Owner);
}

TEST(ParkTarget, KnowsThatAProcessEndedOrIsAnother) {
    tests::Child child;
    auto known = ownTargetOf(child.pid());
    const auto target = ParkTarget::open(known);
    ++known.process.startTime;
    const auto other = ParkTarget::open(known);
    ASSERT_TRUE(target && other);
    EXPECT_EQ(other->objection({::getuid(), ::getgid()}), ParkingFault::Gone);
    child.end();
    EXPECT_EQ(std::get<ParkingFault>(target->owner()), ParkingFault::Gone);
    EXPECT_EQ(target->objection({::getuid(), ::getgid()}), ParkingFault::Gone);
    EXPECT_FALSE(ParkTarget::open(known));
}

#ifndef __SANITIZE_ADDRESS__ // without descriptors, the sanitizers cannot look at an exception
TEST(ParkTarget, DoesNotTakeALackOfDescriptorsForTheEndOfTheProcess) {
    const tests::Child child;
    const auto known = ownTargetOf(child.pid());
    const auto target = ParkTarget::open(known);
    ASSERT_TRUE(target);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{1, before.rlim_max}; // less than are open; poll(2) needs one
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW(ParkTarget::open(known), core::Error);
    EXPECT_EQ(target->objection({::getuid(), ::getgid()}), ParkingFault::Helper);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}
#endif

TEST(ParkTarget, ReadsTheGidsOfAnOldKernel) {
    const auto gids =
        parseGids("Name:\tx\\nGid:\t7\t7\t7\t7\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n");
    ASSERT_TRUE(gids);
    EXPECT_EQ(gids->real, 5U);
    EXPECT_EQ(gids->filesystem, 8U);
    EXPECT_FALSE(gids->areAll(5));
    EXPECT_FALSE(parseGids("Name:\tx\nGid:\t5\t6\n"));
}

} // namespace
} // namespace genv::service
