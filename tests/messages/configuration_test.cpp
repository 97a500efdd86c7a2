// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/configuration.hpp"
#include "client/messages/model/mail_address.hpp"
#include "client/messages/model/webhook_url.hpp"

#include <gtest/gtest.h>

namespace genv::messages {

namespace {

std::string refusalOf(const std::string& text) {
    try {
        static_cast<void>(parseConfiguration(text, "notify.conf"));
        return "accepted";
    } catch (const ConfigurationError& error) {
        return error.what();
    }
}

std::string webhook(const std::string& url) {
    return "[Webhook]\nUrl=" + url + "\nFormat=json\n";
}

TEST(MessageConfiguration, ReadsEverySection) {
    const Configuration read = parseConfiguration(
        "# mine\n[Mail]\nTo = alice@example.org\nKinds=taken, lease\nQuiet=22:00-07:00\n\n"
        "[Webhook]\nUrl=https://hooks.example.org/a?b=c\nFormat=discord\nNames=yes\n"
        "[Command]\nRun=jq . | wall\nNames=no\n",
        "notify.conf");
    ASSERT_EQ(read.size(), 3U);
    const DeliveryTarget& mail = read.at(Channel::Mail);
    EXPECT_EQ(mail.value, "alice@example.org");
    EXPECT_EQ(mail.kinds, (Kinds{Kind::Taken, Kind::Lease}));
    EXPECT_EQ(mail.quiet, (QuietHours{std::chrono::hours(22), std::chrono::hours(7)}));
    const DeliveryTarget& hook = read.at(Channel::Webhook);
    EXPECT_EQ(hook.value, "https://hooks.example.org/a?b=c");
    EXPECT_EQ(hook.format, Format::Discord);
    EXPECT_TRUE(hook.names);
    EXPECT_EQ(read.at(Channel::Command).value, "jq . | wall");
    EXPECT_FALSE(read.at(Channel::Command).names);
}

TEST(MessageConfiguration, SendsNamesToWebhooksOnlyOnRequest) {
    const Configuration read =
        parseConfiguration("[Mail]\nTo=alice\n[Command]\nRun=true\n" + webhook("http://h/"), "f");
    EXPECT_TRUE(read.at(Channel::Mail).names);
    EXPECT_TRUE(read.at(Channel::Command).names);
    EXPECT_FALSE(read.at(Channel::Webhook).names);
    EXPECT_EQ(namesOf(read.at(Channel::Mail).kinds),
              "job-ended, job-failed, granted, taken, lease");
}

TEST(MessageConfiguration, NamesTheLineAndWhatWasExpected) {
    EXPECT_EQ(refusalOf("To=alice\n"), "notify.conf:1: expected [Mail], [Webhook] or [Command], "
                                       "then lines of the form Key=value");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\n[SMS]\n"),
              "notify.conf:3: unknown section \"[SMS]\": expected [Mail], [Webhook] or [Command]");
    EXPECT_EQ(refusalOf("\n[Mail]\n"), "notify.conf:2: [Mail] has no To=: expected one");
    EXPECT_EQ(refusalOf("[Webhook]\nUrl=http://h/\n"),
              "notify.conf:1: [Webhook] has no Format=: expected slack, discord, ntfy or json");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\nTo=b\n"), "notify.conf:3: To= is there twice: expected one");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\n[Mail]\n"),
              "notify.conf:3: [Mail] is there twice: expected one");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\nFormat=json\n"),
              "notify.conf:3: unknown key \"Format\" in [Mail]: expected To=, Kinds=, Quiet= or "
              "Names=");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\nQuiet=22-7\n"),
              "notify.conf:3: Quiet=: invalid hours \"22-7\": expected hours such as 22:00-07:00");
    EXPECT_EQ(refusalOf("[Mail]\nTo=a\nNames=maybe\n"),
              "notify.conf:3: Names=: invalid value \"maybe\": expected yes or no");
    EXPECT_NE(refusalOf("[Mail]\nTo=a\nKinds=test\n").find("unknown kind \"test\""),
              std::string::npos);
    EXPECT_NE(refusalOf("[Mail]\nTo=a\nKinds=\n").find("expected some of"), std::string::npos);
}

TEST(WebhookUrls, HaveAHostAndNoUserName) {
    for (const char* url : {"http://h", "HTTPS://h:8443/x", "https://[::1]:80/x@y"})
        EXPECT_EQ(refusalOf(webhook(url)), "accepted") << url;
    for (const char* url :
         {"file:///etc/passwd", "ftp://h/", "https://", "https:///x", "https://:80/", "//h/", "h",
          "https://alice:secret@h/", "https://a@h", "https://h\\@evil/", "https://h/a b",
          "https://h/\x7f", "https://h/\xc3\xa9"})
        EXPECT_EQ(refusalOf(webhook(url)).find("notify.conf:2: Url=: "), 0U) << url;
    EXPECT_EQ(refusalOf(webhook("https://alice:secret@h/")).find("secret"), std::string::npos);
    EXPECT_NE(refusalOf(webhook("https://h/" + std::string(2048, 'x'))), "accepted");
}

TEST(WebhookUrls, AreShownWithoutTheirPath) {
    EXPECT_EQ(shownUrl("https://hooks.example.org/services/T0/secret"),
              "https://hooks.example.org/...");
    EXPECT_EQ(shownUrl("https://h:1?key=secret"), "https://h:1/...");
    EXPECT_EQ(shownUrl("http://h"), "http://h");
}

TEST(MailAddresses, AreNeitherOptionsNorLists) {
    for (const char* text : {"alice", "a.b+c@example.org", "x_y@mx-1.example.org"})
        EXPECT_TRUE(isMailAddress(text)) << text;
    for (const char* text :
         {"", "-oQ/tmp", "a b", "a@b,c@d", "a@", "@b", "a@b@c", "a..b@c", ".a@b", "a@-b",
          "a\nBcc: b", "\"a\"@b", "a@b>", "|sh", "a;b", "alice@h\xc3\xa9"})
        EXPECT_FALSE(isMailAddress(text)) << text;
    EXPECT_FALSE(isMailAddress(std::string(65, 'a') + "@b"));
}

} // namespace

} // namespace genv::messages
