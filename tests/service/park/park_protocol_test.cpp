// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines between genvd and genv-park: written lines are parsed again, and other lines are
// refused.
#include "service/park/cuda_library.hpp"
#include "service/park/park_protocol.hpp"

#include <gtest/gtest.h>

namespace genv::service {
namespace {

using namespace std::chrono_literals;
using core::CheckpointState;
using core::ParkingCall;
using core::ParkingFault;

TEST(ParkProtocol, ReadsTheRequestsThatItWrites) {
    const core::ParkingTarget target{{INT_MAX, UINT64_MAX}, UINT32_MAX - 1};
    for (const auto call : {ParkingCall::State, ParkingCall::Lock, ParkingCall::Checkpoint,
                            ParkingCall::Restore, ParkingCall::Unlock}) {
        const std::string line = encodeParkRequest(ParkCallRequest{call, target, maxLockTimeout});
        EXPECT_LT(line.size() + 1, maxParkRequest);
        const auto read = std::get<ParkCallRequest>(decodeParkRequest(line));
        EXPECT_EQ(read.call, call) << line;
        EXPECT_EQ(read.target.process, target.process) << line;
        EXPECT_EQ(read.target.uid, target.uid) << line;
        EXPECT_EQ(read.lockTimeout, call == ParkingCall::Lock ? maxLockTimeout : 0ms) << line;
    }
    EXPECT_EQ(encodeParkRequest(ParkCallRequest{ParkingCall::Lock, {{12, 3456}, 1000}, 10s}),
              R"({"call":"lock","pid":12,"start":3456,"timeout":10000,"uid":1000})");
    EXPECT_TRUE(std::holds_alternative<ParkCapabilityRequest>(
        decodeParkRequest(encodeParkRequest(ParkCapabilityRequest{}))));
}

TEST(ParkProtocol, RefusesOtherRequests) {
    for (const char* line : {"",
                             "{",
                             "[]",
                             "7",
                             R"({"call":"kill","pid":1,"start":1,"uid":1})",
                             R"({"call":["state"],"pid":1,"start":1,"uid":1})",
                             R"({"call":"state"})",
                             R"({"call":"state","pid":0,"start":1,"uid":1})",
                             R"({"call":"state","pid":-1,"start":1,"uid":1})",
                             R"({"call":"state","pid":2147483648,"start":1,"uid":1})",
                             R"({"call":"state","pid":1.5,"start":1,"uid":1})",
                             R"({"call":"state","pid":"1","start":1,"uid":1})",
                             R"({"call":"state","pid":1,"start":-1,"uid":1})",
                             R"({"call":"state","pid":1,"start":1,"uid":4294967295})",
                             R"({"call":"state","pid":1,"start":1,"uid":1,"timeout":5})",
                             R"({"call":"state","pid":1,"start":1,"uid":1,"library":"x"})",
                             R"({"call":"lock","pid":1,"start":1,"uid":1})",
                             R"({"call":"lock","pid":1,"start":1,"uid":1,"timeout":0})",
                             R"({"call":"lock","pid":1,"start":1,"uid":1,"timeout":600001})",
                             R"({"call":"lock","pid":1,"start":1,"uid":1,"timeout":[1]})",
                             R"({"call":"capability","uid":1})"})
        EXPECT_THROW(decodeParkRequest(line), ParkProtocolError) << line;
}

TEST(ParkProtocol, ReadsTheAnswersThatItWrites) {
    for (int fault = 0; fault <= static_cast<int>(ParkingFault::Helper); ++fault) {
        for (int state = -1; state <= static_cast<int>(CheckpointState::Unknown); ++state) {
            core::ParkingReply reply;
            reply.failure = core::ParkingFailure{static_cast<ParkingFault>(fault), INT_MAX};
            if (state >= 0)
                reply.state = static_cast<CheckpointState>(state);
            const std::string line = encodeParkAnswer(reply);
            EXPECT_LT(line.size() + 1, maxParkAnswer);
            const auto read = std::get<core::ParkingReply>(decodeParkAnswer(line));
            EXPECT_EQ(read.failure, reply.failure) << line;
            EXPECT_EQ(read.state, reply.state) << line;
        }
    }
    const core::ParkingCapability capability{true, false, "13.0"};
    EXPECT_EQ(std::get<core::ParkingCapability>(decodeParkAnswer(encodeParkAnswer(capability))),
              capability);
}

TEST(ParkProtocol, RefusesOtherAnswers) {
    for (const char* line :
         {"", "{}", "[]", R"({"state":"asleep"})", R"({"state":1})",
          R"({"state":"locked","driver":"13.0"})", R"({"fault":"driver"})",
          R"({"fault":"bad","code":1})", R"({"fault":"driver","code":-1})",
          R"({"fault":"driver","code":"1"})", R"({"fault":"driver","code":1,"state":null})",
          R"({"fault":"driver","code":1,"reason":"x"})", R"({"library":true,"functions":true})",
          R"({"library":1,"functions":true,"driver":""})",
          R"({"library":true,"functions":true,"driver":"\u001b[31m"})",
          R"({"library":true,"functions":true,"driver":"000000000000000000000000000000000"})"})
        EXPECT_THROW(decodeParkAnswer(line), ParkProtocolError) << line;
}

TEST(ParkProtocol, GivesALockItsTimeoutAndMore) {
    const core::ParkingTarget target{{1, 1}, 1};
    EXPECT_GT(parkDeadline(ParkCallRequest{ParkingCall::Lock, target, 60s}), 60s);
    EXPECT_LE(parkDeadline(ParkCallRequest{ParkingCall::Lock, target, 60s}), 70s);
    EXPECT_GT(parkDeadline(ParkCallRequest{ParkingCall::Checkpoint, target, 0ms}), 10min);
}

TEST(CudaLibrary, TellsWhatAResultMeans) {
    EXPECT_EQ(failureOf(cuda::Result::NotSupported),
              (core::ParkingFailure{ParkingFault::NotSupported, 801}));
    EXPECT_EQ(failureOf(static_cast<cuda::Result>(719)),
              (core::ParkingFailure{ParkingFault::Driver, 719}));
    EXPECT_EQ(stateOf(cuda::ProcessState::Failed), CheckpointState::Failed);
    EXPECT_EQ(stateOf(static_cast<cuda::ProcessState>(4)), CheckpointState::Unknown);
    EXPECT_EQ(stateOf(static_cast<cuda::ProcessState>(-1)), CheckpointState::Unknown);
}

} // namespace
} // namespace genv::service
