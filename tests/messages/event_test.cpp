// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/letter.hpp"
#include "client/messages/model/message_event.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

MessageEvent taken(core::DeviceIndex gpu) {
    return {.kind = Kind::Taken,
            .when = core::WallTime(5s),
            .environment = "7",
            .name = "train",
            .gpus = {gpu},
            .status = "taken away by an administrator"};
}

MessageEvent failed() {
    return {.kind = Kind::JobFailed,
            .when = core::WallTime(9s),
            .job = 17,
            .name = "sweep",
            .gpus = {},
            .gpuCount = 2,
            .duration = 2h + 3min,
            .status = "exit status 1"};
}

TEST(MessageEvents, AreTheSameAfterAFile) {
    for (const MessageEvent& event : {taken(3), failed()})
        EXPECT_EQ(decodeEvent(encode(event)), event);
    for (const char* text : {"", "[]", "{}", "{\"kind\":\"nonsense\",\"time\":1,\"status\":\"\"}",
                             "{\"kind\":\"taken\",\"time\":\"x\",\"status\":\"\"}"})
        EXPECT_EQ(decodeEvent(text), std::nullopt) << text;
}

TEST(MessageEvents, DifferOnlyInGpusWhenTheyAreOne) {
    MessageEvent other = taken(4);
    other.environment = "8";
    const auto result = merged({taken(3), other, taken(1), taken(3), failed()});
    ASSERT_EQ(result.size(), 3U);
    EXPECT_EQ(result[0].gpus, (std::vector<core::DeviceIndex>{1, 3}));
    EXPECT_EQ(result[1], other);
    EXPECT_EQ(result[2], failed());
}

TEST(MessageEvents, HaveNamesOfOneLine) {
    EXPECT_EQ(boundedName("a\nBcc: b\x1b[31m"), "a\\x0aBcc: b\\x1b[31m");
    EXPECT_EQ(boundedName("a\xff"), "a\\xff");
    const std::string longName = boundedName(std::string(127, 'x') + "\xc3\xa9\xc3\xa9");
    EXPECT_EQ(longName, std::string(127, 'x') + "...");
}

TEST(Letters, SayWhatHappened) {
    EXPECT_EQ(sentenceOf(failed(), true), "Job 17 (sweep): exit status 1 (2 GPUs, 2h 3min)");
    EXPECT_EQ(sentenceOf(failed(), false), "Job 17: exit status 1 (2 GPUs, 2h 3min)");
    EXPECT_EQ(sentenceOf(taken(3), true),
              "Environment 7 (train): taken away by an administrator (GPU 3)");
    MessageEvent chosen = taken(3);
    chosen.environment = "secret-project";
    EXPECT_EQ(sentenceOf(chosen, false), "taken away by an administrator (GPU 3)");
    chosen.environment = "job-17.3-2";
    EXPECT_EQ(sentenceOf(chosen, false),
              "Environment job-17.3-2: taken away by an administrator (GPU 3)");
    const Letter one = letterOf({"gpu1", {failed()}, 0, true});
    EXPECT_EQ(one.title, "gpu1: Job 17 failed");
    EXPECT_TRUE(one.isUrgent);
    EXPECT_EQ(textOf(one), "Job 17 (sweep): exit status 1 (2 GPUs, 2h 3min)\n");
}

TEST(Letters, HaveTwentyLinesAndARemark) {
    const Letter letter = letterOf({"gpu1", std::vector<MessageEvent>(30, failed()), 2, true});
    EXPECT_EQ(letter.title, "gpu1: 32 messages about your GPUs");
    ASSERT_EQ(letter.lines.size(), 21U);
    EXPECT_EQ(letter.lines.back(), "And 12 further messages.");
}

TEST(Letters, AreJsonForPrograms) {
    const auto json = nlohmann::json::parse(jsonOf({"gpu1", {failed(), taken(3)}, 1, false}));
    EXPECT_EQ(json.at("version"), 1);
    EXPECT_EQ(json.at("machine"), "gpu1");
    EXPECT_EQ(json.at("missing"), 1);
    ASSERT_EQ(json.at("messages").size(), 2U);
    EXPECT_EQ(json.at("messages").at(0),
              (nlohmann::json{{"kind", "job-failed"},
                              {"time", 9000000},
                              {"job", 17},
                              {"gpu_count", 2},
                              {"duration", 7380},
                              {"status", "exit status 1"},
                              {"text", "Job 17: exit status 1 (2 GPUs, 2h 3min)"}}));
    EXPECT_FALSE(json.at("messages").at(1).contains("name"));
}

} // namespace

} // namespace genv::messages
