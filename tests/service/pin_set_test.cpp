// SPDX-License-Identifier: LGPL-2.1-or-later
// A set of pins knows the living processes among its pins and reports their exits, and no others.
#include "core/base/glibc_pidfd.hpp"
#include "service/processes/pin_set.hpp"
#include "tests/service/child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <optional>
#include <utility>
#include <vector>

namespace genv::tests {
namespace {

TEST(PinSet, KnowsAProcessAsLongAsAPinOfItIsLeft) {
    const Child child;
    const core::ProcessIdentity identity{child.pid(), 1};
    service::PinSet pins;
    auto first = pins.add(service::Pidfd::open(child.pid()), identity);
    auto second = pins.add(service::Pidfd::open(child.pid()), identity);
    first.reset();
    EXPECT_EQ(pins.living(child.pid()), identity);
    second.reset();
    EXPECT_EQ(pins.living(child.pid()), std::nullopt);
}

TEST(PinSet, ReportsTheExitOnceForEachPin) {
    Child child;
    const core::ProcessIdentity identity{child.pid(), 1};
    service::PinSet pins;
    const auto first = pins.add(service::Pidfd::open(child.pid()), identity);
    const auto second = pins.add(service::Pidfd::open(child.pid()), identity);
    child.end();
    std::vector<core::ProcessIdentity> exits;
    for (int turn = 0; turn < 2; ++turn)
        pins.dispatch([&](const core::ProcessIdentity& exited) { exits.push_back(exited); });
    EXPECT_EQ(exits, (std::vector{identity, identity}));
}

TEST(PinSet, ReportsNoExitForAPinThatAListenerHasDropped) {
    Child child;
    const core::ProcessIdentity identity{child.pid(), 1};
    service::PinSet pins;
    auto first = pins.add(service::Pidfd::open(child.pid()), identity);
    auto second = pins.add(service::Pidfd::open(child.pid()), identity);
    child.end();
    int exits = 0;
    pins.dispatch([&](const core::ProcessIdentity& /*exited*/) {
        ++exits;
        first.reset();
        second.reset();
    });
    EXPECT_EQ(exits, 1);
}

TEST(PinSet, DoesNotWatchADroppedPinWhosePidfdHasACopy) {
    Child child;
    core::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(child.pid()), 0));
    const core::Descriptor copy(::fcntl(pidfd.get(), F_DUPFD_CLOEXEC, 0));
    ASSERT_TRUE(copy.isOpen());
    service::PinSet pins;
    auto pin = pins.add({std::move(pidfd), child.pid()}, {child.pid(), 1});
    pin.reset();
    child.end();
    pollfd pending{pins.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&pending, 1, 0), 0);
}

} // namespace
} // namespace genv::tests
