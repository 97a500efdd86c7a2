// SPDX-License-Identifier: LGPL-2.1-or-later
// An ssh that is to accept a connection from this process accepts it, even if ssh ends meanwhile:
// sdbus-c++ 1.2 leaks the memory of a connection that cannot be made.
#include "client/remote/ssh/ssh.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <string>
#include <vector>

namespace genv::remote {
namespace {

using std::chrono::milliseconds;

class SshThatAccepts : public testing::Test {
  protected:
    SshThatAccepts() {
        address_.sun_family = AF_UNIX; // the kernel chooses the name
        EXPECT_EQ(bind(listening_.get(), address(), sizeof address_.sun_family), 0);
        size_ = sizeof address_;
        EXPECT_EQ(getsockname(listening_.get(), address(), &size_), 0);
        EXPECT_EQ(listen(listening_.get(), 1), 0);
    }

    /// Starts a program as ssh, closes the socket here, and then connects.
    int statusOf(const std::vector<std::string>& program, const SshBounds& bounds) {
        SshChild child(program, listening_.get(), listening_.get(), bounds, true);
        EXPECT_GE(dup2(connection_.get(), listening_.get()), 0);
        EXPECT_FALSE(child.endsWithin(milliseconds{100})) << "before the connection";
        EXPECT_EQ(connect(connection_.get(), address(), size_), 0);
        EXPECT_EQ(send(connection_.get(), "", 1, MSG_NOSIGNAL), 1);
        return child.wait();
    }

  private:
    sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }

    client::Descriptor listening_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    client::Descriptor connection_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address_{};
    socklen_t size_ = 0;
};

TEST_F(SshThatAccepts, DoesSoAlthoughItIsCancelled) {
    Cancellation cancellation;
    cancellation.cancel();
    EXPECT_EQ(statusOf({"true"}, {std::nullopt, &cancellation}), 128 + SIGTERM);
}

TEST_F(SshThatAccepts, DoesSoAlthoughItsTimeIsUp) {
    // Its time begins when it runs, which may be late: a program that ends at once could be in
    // time.
    EXPECT_EQ(statusOf({"sleep", "1000"}, {milliseconds{1}}), 128 + SIGALRM);
}

} // namespace
} // namespace genv::remote
