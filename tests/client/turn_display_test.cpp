// SPDX-License-Identifier: LGPL-2.1-or-later
// The pace at which a waiting command looks at the queue.
#include "client/genvctl/environment/turn.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>

namespace genv::ctl {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds pauseAmong(std::size_t requests) {
    TurnDisplay display([requests](bool) { return TurnState(std::nullopt, requests); });
    display.update();
    return display.pause();
}

TEST(TurnDisplay, PausesLongerAfterAChangeTheMoreRequestsWait) {
    EXPECT_EQ(pauseAmong(0), 0ms);
    EXPECT_LE(pauseAmong(1), 100ms);
    // All together ask at most 20 times a second.
    for (const std::size_t requests : {10U, 256U})
        EXPECT_GE(pauseAmong(requests) * 20, requests * 1s);
}

} // namespace
} // namespace genv::ctl
