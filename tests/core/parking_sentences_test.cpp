// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences of a taking, which the clients tell and the service only compiles.
#include "core/parking/parking_sentences.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

const core::TakenFrom training{"12", "training", "alice", core::Bytes{std::uint64_t{12} << 30}};
const core::TakenFrom nameless{"13", "", "bob", core::Bytes{0}};

TEST(ParkingSentences, SayWhatIsTakenFromWhomAndForHowLong) {
    EXPECT_EQ(core::describeTaking({training, nameless}, {0, 1}, 6s),
              "parking \"training\" of alice, environment 13 of bob for GPUs 0,1: 12 GiB, "
              "about 6 s");
    EXPECT_EQ(core::describeTaking({nameless}, {}, 0s),
              "parking environment 13 of bob: longer than expected");
    EXPECT_EQ(core::describeTaking({nameless, nameless, nameless, nameless}, {2}, 2min),
              "parking 4 environments for GPU 2: about 2min");
}

TEST(ParkingSentences, SayThatARequestWaitsOn) {
    EXPECT_EQ(core::describeTakingFailed({training}, ""),
              "\"training\" of alice could not be parked; the request waits on");
    EXPECT_EQ(core::describeTakingFailed({training}, "it uses managed memory"),
              "\"training\" of alice could not be parked: it uses managed memory; the request "
              "waits on");
}

} // namespace
} // namespace genv::tests
