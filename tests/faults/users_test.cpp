// SPDX-License-Identifier: LGPL-2.1-or-later
// The user database hangs, as a remote directory server does. No limit of a user is dropped because
// of that.
#include "core/base/glibc_pidfd.hpp"
#include "tests/faults/fixture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace genv::tests {
namespace {

class UserDatabase : public FaultTest {
  protected:
    UserDatabase() {
        std::ofstream(Service::configurationFolder() / "genvd.conf")
            << "[Limits]\nMaxDevicesPerUser=4\n"
               "[Group students]\nMaxDevicesPerUser=1\n"
               "[User carol]\nMaxDevicesPerUser=2\n";
        service.set(userDatabaseVariable, pipe_);
        startAgain();
    }
    ~UserDatabase() override { answer(); }

    void startAgain() { service.restart(SIGTERM); }
    /// From now on the database answers no query.
    void hang() const {
        if (::mkfifo(pipe_.c_str(), 0600) != 0)
            throw std::runtime_error("mkfifo");
    }
    /// The database answers pending and later queries.
    void answer() const {
        const int end = ::open(pipe_.c_str(), O_RDWR | O_CLOEXEC);
        std::filesystem::remove(pipe_);
        ::close(end);
    }
    static Answer attach(Client& client, const std::string& id, std::uint32_t count) {
        return client.environment(id, "Attach", "a{sv}", 1, "count", "u", count);
    }

  private:
    const std::string pipe_ = (Service::configurationFolder() / "user-database").string();
};

TEST_F(UserDatabase, ThatHangsDropsNoLimitOfAUserOfWhomItSpokeBefore) {
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell, 1);
    hang();
    injector.setBoot(std::chrono::hours{1}); // its earlier answers are out of date by then
    EXPECT_EQ(attach(*asBob, id, 2).error, error::quotaExceeded) << "he is a student";
    EXPECT_EQ(devicesOf(id), "0");
    service.waitForLog("the user database does not answer");
}

TEST_F(UserDatabase, ThatHangsFromTheStartHoldsEverybodyToTheStrictestLimits) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    hang();
    startAgain();
    EXPECT_EQ(attach(*asAlice, id, 2).error, error::quotaExceeded) << "she might be a student";
    EXPECT_TRUE(attach(*asAlice, id, 1).ok());
    answer();
    waitUntil([&] { return attach(*asAlice, id, 4).ok(); }, "the general limit to hold again");
}

// A rule terminates no process because of a limit that may not apply to its user.
TEST_F(UserDatabase, ThatHangsEndsNobodysWork) {
    const UserProcess shell(carol);
    const std::string id = activate(*asCarol, shell, 2);
    hang();
    startAgain();
    EXPECT_TRUE(asRoot
                    ->manager("Enforce", "a{sv}", 2, "max-devices-per-user", "u", 1U,
                              "max-devices-for-user", "a{su}", 1, "carol", 2U)
                    .ok());
    EXPECT_EQ(devicesOf(id), "0,1") << "she may have two, though nobody can tell that it is she";
}

// A worker cannot be interrupted while it waits for the database.
TEST_F(UserDatabase, ThatHangsDoesNotKeepTheServiceFromItsEnd) {
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell, 1);
    hang();
    injector.setBoot(std::chrono::hours{1}); // its earlier answers are out of date by then
    EXPECT_EQ(attach(*asBob, id, 2).error, error::quotaExceeded);
    service.waitForLog("the user database does not answer");
    const int pidfd = ::pidfd_open(service.pid(), 0);
    ASSERT_GE(pidfd, 0);
    ::kill(service.pid(), SIGTERM);
    pollfd ended{pidfd, POLLIN, 0};
    const std::chrono::milliseconds deadline = eventDeadline;
    const int count = ::poll(&ended, 1, static_cast<int>(deadline.count()));
    ::close(pidfd);
    ASSERT_EQ(count, 1) << "it still runs";
    EXPECT_EQ(service.wait(), 0);
}

} // namespace
} // namespace genv::tests
