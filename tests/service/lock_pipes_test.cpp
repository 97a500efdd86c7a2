// SPDX-License-Identifier: LGPL-2.1-or-later
// The descriptors of locks that systemd stores, of which there may be a limited number.
#include "service/lock_pipes.hpp"
#include "tests/bus/support/descriptor_store.hpp"
#include "tests/core/fakes.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace genv::tests {
namespace {

class LockPipes : public ::testing::Test {
  protected:
    LockPipes() { ::setenv("NOTIFY_SOCKET", store.address().c_str(), 1); }
    ~LockPipes() override { ::unsetenv("NOTIFY_SOCKET"); }

    bool isStored(std::uint64_t number) {
        return store.received().contains("lock-" + std::to_string(number));
    }
    // The store's socket has a limited queue, so each lock is received before the next.
    bool open(std::uint64_t number) {
        ends.push_back(pipes.open(number));
        return isStored(number);
    }

    DescriptorStore store;
    SilentLog log;
    service::LockPipes pipes{log};
    std::vector<std::unique_ptr<core::LockEnd>> ends;
};

TEST_F(LockPipes, AreStoredAgainOnceOneOfTheStoredOnesIsClosed) {
    constexpr std::uint64_t max = service::LockPipes::maxStored;
    for (std::uint64_t number = 1; number <= max; ++number)
        EXPECT_TRUE(open(number));
    EXPECT_FALSE(open(max + 1));
    ASSERT_EQ(log.lines.size(), 1U);
    EXPECT_EQ(log.lines[0], "lock 257 will not outlive a restart: 256 are kept already");

    pipes.close(max + 1);
    EXPECT_FALSE(open(max + 2)) << "the closed one was not stored";
    pipes.close(1);
    EXPECT_FALSE(isStored(1));
    EXPECT_TRUE(open(max + 3));
    EXPECT_FALSE(open(max + 4));
}

TEST_F(LockPipes, AreNotCountedIfNothingStoresThem) {
    ::unsetenv("NOTIFY_SOCKET");
    for (std::uint64_t number = 1; number <= service::LockPipes::maxStored + 1; ++number)
        ends.push_back(pipes.open(number));
    EXPECT_TRUE(log.lines.empty());
}

} // namespace
} // namespace genv::tests
