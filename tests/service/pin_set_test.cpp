// SPDX-License-Identifier: LGPL-2.1-or-later
// A set of pins knows the living processes among its pins, and no others.
#include "service/processes/pin_set.hpp"
#include "tests/service/child.hpp"

#include <gtest/gtest.h>

#include <optional>

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

} // namespace
} // namespace genv::tests
