// SPDX-License-Identifier: LGPL-2.1-or-later
// The formats of webhooks and mail, as their receivers document them.
#include "client/messages/model/encoded_words.hpp"
#include "client/messages/model/mail.hpp"
#include "client/messages/model/webhook_request.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

Contents contentsWith(const std::string& name, std::size_t count = 1) {
    const MessageEvent event{.kind = Kind::JobFailed,
                             .when = core::WallTime(9s),
                             .job = 17,
                             .name = boundedName(name),
                             .gpus = {},
                             .status = "exit status 1"};
    return {"gpu1", std::vector<MessageEvent>(count, event), 0, true};
}

// docs.slack.dev: "Sending messages using incoming webhooks", "Escaping text".
TEST(WebhookFormats, SlackGetsTextWithItsThreeCharactersEscaped) {
    const WebhookRequest request = requestOf(contentsWith("<!channel> & *b*"), Format::Slack);
    EXPECT_EQ(request.headers, std::vector<std::string>{"Content-Type: application/json"});
    EXPECT_EQ(nlohmann::json::parse(request.body),
              (nlohmann::json{{"text", "gpu1: Job 17 failed\nJob 17 (&lt;!channel&gt; &amp; *b*): "
                                       "exit status 1"},
                              {"mrkdwn", false}}));
}

// docs.discord.com: "Execute Webhook", "Allowed Mentions Object".
TEST(WebhookFormats, DiscordGetsContentThatMentionsNobody) {
    const WebhookRequest request = requestOf(contentsWith("@everyone **x** `"), Format::Discord);
    const auto json = nlohmann::json::parse(request.body);
    EXPECT_EQ(json.size(), 2U);
    EXPECT_EQ(json.at("allowed_mentions"), (nlohmann::json{{"parse", nlohmann::json::array()}}));
    EXPECT_EQ(json.at("content"), "gpu1\\: Job 17 failed\nJob 17 \\(@everyone \\*\\*x\\*\\* "
                                  "\\`\\)\\: exit status 1");
}

// docs.ntfy.sh/publish: the message is the body, and its title and priority are headers.
TEST(WebhookFormats, NtfyGetsABodyAndHeaders) {
    const WebhookRequest request = requestOf(contentsWith("x"), Format::Ntfy);
    EXPECT_EQ(request.body, "Job 17 (x): exit status 1");
    EXPECT_EQ(request.headers, (std::vector<std::string>{"Content-Type: text/plain; charset=utf-8",
                                                         "Title: gpu1: Job 17 failed",
                                                         "Priority: high", "Tags: warning"}));
    Contents foreign = contentsWith("x");
    foreign.machine = "gp\xc3\xbc";
    EXPECT_EQ(requestOf(foreign, Format::Ntfy).headers[1],
              "Title: =?UTF-8?B?Z3DDvDogSm9iIDE3IGZhaWxlZA==?=");
}

TEST(WebhookFormats, StayWithinTheLimitsOfTheirReceivers) {
    const Contents many = contentsWith(std::string(128, '*'), 30);
    const auto discord = nlohmann::json::parse(requestOf(many, Format::Discord).body);
    EXPECT_LE(discord.at("content").get<std::string>().size(), 2000U);
    const auto slack = nlohmann::json::parse(requestOf(many, Format::Slack).body);
    EXPECT_LE(slack.at("text").get<std::string>().size(), 4000U);
    EXPECT_LE(requestOf(many, Format::Ntfy).body.size(), 4096U);
    EXPECT_TRUE(discord.at("content").get<std::string>().ends_with("..."));
}

TEST(WebhookFormats, HaveNoLineEndInAHeader) {
    for (const Format format : {Format::Slack, Format::Discord, Format::Ntfy, Format::Json})
        for (const std::string& header :
             requestOf(contentsWith("a\r\nX-Evil: 1"), format).headers) {
            EXPECT_EQ(header.find_first_of("\r\n"), std::string::npos);
            EXPECT_TRUE(std::all_of(header.begin(), header.end(),
                                    [](char c) { return c >= ' ' && c < 0x7f; }));
        }
}

// RFC 4648, section 10.
TEST(EncodedWords, UseBase64) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

// RFC 2047, section 2: at most 75 characters; section 5: each word holds whole characters.
TEST(EncodedWords, AreShortAndHoldWholeCharacters) {
    std::string text;
    for (int count = 0; count < 60; ++count)
        text += "\xe2\x82\xac";
    std::istringstream words(headerText(text, " "));
    std::size_t count = 0;
    for (std::string word; words >> word; ++count) {
        EXPECT_LE(word.size(), 75U);
        EXPECT_TRUE(word.starts_with("=?UTF-8?B?") && word.ends_with("?="));
        EXPECT_EQ((word.size() - 12) / 4 * 3 % 3, 0U);
        EXPECT_EQ(word.find('='), 0U);
    }
    EXPECT_EQ(count, 4U);
    EXPECT_EQ(headerText("plain: text", " "), "plain: text");
    EXPECT_EQ(headerText("a\nBcc: b", " ").find('\n'), std::string::npos);
    EXPECT_TRUE(headerText("=?UTF-8?B?eA==?=", " ").starts_with("=?UTF-8?B?PT9V"));
}

TEST(Mail, HasOneHeaderForEachFactAndAnEncodedBody) {
    const Letter letter{"gp\xc3\xbc: x\nBcc: eve@example.org", {".", "two"}, false};
    const std::string mail = mailOf(letter, "alice@example.org", core::WallTime(1795000000s));
    EXPECT_EQ(mail, "To: alice@example.org\n"
                    "Subject: =?UTF-8?B?Z3DDvDogeApCY2M6IGV2ZUBleGFtcGxlLm9yZw==?=\n"
                    "Date: Wed, 18 Nov 2026 11:06:40 +0000\n"
                    "Auto-Submitted: auto-generated\n"
                    "MIME-Version: 1.0\n"
                    "Content-Type: text/plain; charset=UTF-8\n"
                    "Content-Transfer-Encoding: base64\n"
                    "\nLgp0d28K\n");
}

} // namespace

} // namespace genv::messages
