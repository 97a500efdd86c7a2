// SPDX-License-Identifier: LGPL-2.1-or-later
// The adapter with any process at the other end of the socket: each call is answered once, later,
// and on time.
#include "service/loop/glib_loop.hpp"
#include "service/park/park_socket.hpp"
#include "tests/service/line_helper.hpp"
#include "tests/service/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace genv::service {
namespace {

using namespace std::chrono_literals;
using core::ParkingCall;
using Texts = std::vector<std::string>;

class ParkSocketTest : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder.path() / "socket"; }
    [[nodiscard]] ParkSocketSettings settings() const { return {.socket = path()}; }

    // Notes the answer as a line of the protocol.
    void callInto(ParkSocket& parker, ParkingCall call, core::Pid pid, core::Uid uid = 1000) {
        ++expected_;
        parker.call(call, {{pid, 1}, uid}, 100ms,
                    [this](const core::ParkingReply& reply) { note(reply); });
    }
    void capabilityInto(ParkSocket& parker) {
        ++expected_;
        parker.capability([this](const core::ParkingCapability& told) { note(told); });
    }
    /// Returns the answer to a call if the helper sends this text.
    std::string answerTo(const std::optional<std::string>& text,
                         std::chrono::milliseconds margin = 5s) {
        const tests::LineHelper helper(path(), [&](const std::string& /*line*/) { return text; });
        ParkSocketSettings own = settings();
        own.margin = margin;
        ParkSocket parker(own, loop);
        const std::size_t before = answers.size();
        callInto(parker, ParkingCall::Lock, 7);
        EXPECT_EQ(answers.size(), before); // never before the call returns
        loop.run();
        std::filesystem::remove(path());
        return answers.back();
    }

    tests::TemporaryFolder folder;
    GlibLoop loop;
    Texts answers;

  private:
    void note(const ParkAnswer& answer) {
        answers.push_back(encodeParkAnswer(answer));
        if (answers.size() == expected_)
            loop.quit(0);
    }

    std::size_t expected_ = 0;
};

constexpr const char* helperFault = R"({"code":0,"fault":"helper"})";

TEST_F(ParkSocketTest, SendsEachCallAndTellsItsAnswer) {
    tests::LineHelper helper(path(), [](const std::string& line) -> std::optional<std::string> {
        if (line.find("capability") != std::string::npos)
            return "{\"library\":true,\"functions\":true,\"driver\":\"13.0\"}\n";
        return line.find("lock") != std::string::npos
                   ? "{\"state\":\"locked\"}\n"
                   : "{\"fault\":\"not-supported\",\"code\":801,\"state\":\"locked\"}\n";
    });
    ParkSocket parker(settings(), loop);
    callInto(parker, ParkingCall::Lock, 12);
    callInto(parker, ParkingCall::Checkpoint, 12);
    capabilityInto(parker);
    loop.run();
    std::ranges::sort(answers);
    EXPECT_EQ(answers, (Texts{R"({"code":801,"fault":"not-supported","state":"locked"})",
                              R"({"driver":"13.0","functions":true,"library":true})",
                              R"({"state":"locked"})"}));
    EXPECT_EQ(helper.end(), (Texts{R"({"call":"lock","pid":12,"start":1,"timeout":100,"uid":1000})",
                                   R"({"call":"checkpoint","pid":12,"start":1,"uid":1000})",
                                   R"({"call":"capability"})"}));
}

TEST_F(ParkSocketTest, BelievesNoOtherAnswer) {
    for (const char* text : {"", "nonsense\n", "{\"state\":\"locked\"}",
                             "{\"state\":\"locked\"}\n{\"state\":\"locked\"}\n",
                             "{\"library\":true,\"functions\":true,\"driver\":\"13.0\"}\n"})
        EXPECT_EQ(answerTo(text), helperFault) << text;
    EXPECT_EQ(answerTo(std::string(maxParkAnswer + 1, ' ')), helperFault);
}

TEST_F(ParkSocketTest, LeavesAHelperThatHangs) {
    // The deadline of the helper itself is not to be waited for.
    EXPECT_EQ(
        answerTo(std::nullopt, 200ms - parkDeadline(ParkCallRequest{ParkingCall::Lock, {}, 100ms})),
        R"({"code":0,"fault":"deadline"})");
}

TEST_F(ParkSocketTest, AnswersIfThereIsNoHelper) {
    ParkSocket parker(settings(), loop);
    callInto(parker, ParkingCall::State, 7);
    capabilityInto(parker);
    EXPECT_TRUE(answers.empty());
    loop.run();
    EXPECT_EQ(answers, (Texts{helperFault, R"({"driver":"","functions":false,"library":false})"}));
}

TEST_F(ParkSocketTest, MakesAFewCallsAtATimeAndRefusesAFlood) {
    tests::LineHelper helper(
        path(), [](const std::string& /*line*/) { return "{\"state\":\"running\"}\n"; });
    ParkSocketSettings own = settings();
    own.maxConnections = 1;
    own.maxWaiting = 2;
    ParkSocket parker(own, loop);
    for (core::Pid pid = 1; pid <= 4; ++pid)
        callInto(parker, ParkingCall::State, pid);
    loop.run();
    std::ranges::sort(answers);
    const std::string done = R"({"state":"running"})";
    EXPECT_EQ(answers, (Texts{helperFault, done, done, done}));
    EXPECT_EQ(helper.end().size(), 3U);
}

TEST_F(ParkSocketTest, LetsNoUserKeepOthersWaiting) {
    tests::LineHelper helper(path(), [](const std::string& line) -> std::optional<std::string> {
        if (line.find("\"uid\":666") != std::string::npos)
            return std::nullopt; // hangs
        return "{\"state\":\"running\"}\n";
    });
    ParkSocketSettings own = settings();
    own.maxConnections = 3;
    own.maxPerUser = 2;
    ParkSocket parker(own, loop);
    for (core::Pid pid = 1; pid <= 8; ++pid)
        parker.call(ParkingCall::State, {{pid, 1}, 666}, 1ms,
                    [](const core::ParkingReply& /*reply*/) { FAIL() << "it hangs"; });
    callInto(parker, ParkingCall::State, 9);
    loop.run();
    EXPECT_EQ(answers, Texts{R"({"state":"running"})"});
    EXPECT_EQ(helper.end().size(), 3U);
}

TEST_F(ParkSocketTest, DropsWhatIsUnderWayWhenItGoes) {
    const tests::LineHelper helper(
        path(), [](const std::string& /*line*/) { return "{\"state\":\"running\"}\n"; });
    {
        ParkSocket parker(settings(), loop);
        callInto(parker, ParkingCall::State, 1);
        ParkSocket unreachable({.socket = folder.path() / "nowhere"}, loop);
        callInto(unreachable, ParkingCall::State, 1);
    }
    GlibLoop::post([this] { loop.quit(0); });
    loop.run();
    EXPECT_EQ(answers, Texts{});
}

} // namespace
} // namespace genv::service
