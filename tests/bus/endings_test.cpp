// SPDX-License-Identifier: LGPL-2.1-or-later
// The view of other users while an environment ends.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class Endings : public BusTest {};

TEST_F(Endings, FailNobodyElsesListOfObjects) {
    const UserProcess kept(alice);
    UserProcess ending(bob);
    const std::string id = activate(*asAlice, kept, 1);
    activate(*asBob, ending, 1);

    // When the service looks, the process has ended and the calls have arrived: more calls than the
    // service answers before it looks at processes.
    ASSERT_EQ(::kill(service.pid(), SIGSTOP), 0);
    ending.kill(SIGKILL);
    ending.wait();
    std::vector<std::unique_ptr<PendingCall>> lists;
    for (int i = 0; i < 100; ++i)
        lists.push_back(
            asRoot->start(managerPath, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
    asRoot->ping();
    ASSERT_EQ(::kill(service.pid(), SIGCONT), 0);

    for (const auto& listed : lists)
        EXPECT_TRUE(asRoot->finish(*listed).ok()) << listed->answer.text;
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(devicesOf(id), "0");
}

} // namespace
} // namespace genv::tests
