// SPDX-License-Identifier: LGPL-2.1-or-later
// The text of messages: one message for related events, everything escaped, and a bounded length.
#include "client/notify/gatherer.hpp"
#include "client/notify/terminal_lines.hpp"
#include "core/sentences/sentences.hpp"

#include <gtest/gtest.h>

namespace genv::notify {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

constexpr core::WallTime start{std::chrono::seconds{1795261288}};

Notice notice(std::string kind, std::map<std::string, std::string> details,
              std::string environment = "58") {
    details.emplace("actor", "0");
    return {std::move(kind), std::move(environment), std::move(details)};
}

Notice detached(const std::string& device, const std::string& reason = "admin") {
    return notice("detached", {{"device", device}, {"uuid", "GPU-" + device}, {"reason", reason}});
}

/// Returns the only message for these notices.
DesktopNotification messageOf(const std::vector<Notice>& notices) {
    Gatherer gatherer(true);
    for (const Notice& each : notices)
        EXPECT_TRUE(gatherer.add(each, start));
    const auto messages = gatherer.take(start);
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? DesktopNotification{} : messages.front();
}

TEST(DesktopNotification, NamesEverythingThatABurstTookAway) {
    const DesktopNotification message =
        messageOf({detached("3"), detached("0"), detached("1"), detached("2"), detached("10")});
    EXPECT_EQ(message.title, "GPUs 0-3,10 were taken away");
    EXPECT_EQ(message.sentences, Texts{"Environment 58: GPUs 0-3,10 were taken away by an "
                                       "administrator (root)."});
    EXPECT_EQ(message.hint, "Ask an administrator why; \"genv attach\" attaches another.");
    EXPECT_EQ(message.urgency, Urgency::Normal);
    EXPECT_EQ(message.category, "device.removed");
    ASSERT_EQ(message.actions.size(), 1U);
    EXPECT_EQ(message.actions[0].kind, NotificationAction::Kind::AttachAgain);
    EXPECT_EQ(message.actions[0].environment, "58");
    ASSERT_EQ(message.actions[0].devices.size(), 5U);
    EXPECT_EQ(message.actions[0].devices[4].uuid, "GPU-10");
}

TEST(DesktopNotification, IsAboutTheWorstOfWhatHappened) {
    const DesktopNotification message = messageOf(
        {detached("1"),
         notice("process-terminated", {{"pid", "12"}, {"devices", "1,2"}, {"reason", "admin"}})});
    EXPECT_EQ(message.urgency, Urgency::Critical);
    EXPECT_EQ(message.title, "Process 12 was ended");
    EXPECT_EQ(message.sentences,
              (Texts{"Environment 58: GPU 1 was taken away by an administrator (root).",
                     "Process 12 on GPUs 1,2 was ended by an administrator (root)."}));
}

TEST(DesktopNotification, OfAnEndedEnvironmentOffersNothingToAttach) {
    const DesktopNotification message =
        messageOf({detached("1"), notice("ended", {{"reason", "admin"}, {"name", "training"}})});
    EXPECT_EQ(message.title, "Environment training (58) was ended");
    EXPECT_EQ(message.sentences, Texts{"Environment training (58): the environment was ended by an "
                                       "administrator (root)."});
    EXPECT_TRUE(message.actions.empty());
    EXPECT_EQ(message.urgency, Urgency::Critical);
}

TEST(DesktopNotification, OfALostDeviceIsCriticalAndOffersItNotAgain) {
    const DesktopNotification message =
        messageOf({notice("device-health", {{"device", "1"}, {"health", "lost"}}),
                   detached("1", "device-lost")});
    EXPECT_EQ(message.title, "GPU 1 was lost");
    EXPECT_EQ(message.sentences, Texts{"Environment 58: GPU 1 was taken away because the driver no "
                                       "longer has it."});
    EXPECT_EQ(message.urgency, Urgency::Critical);
    EXPECT_EQ(message.category, "device.error");
    EXPECT_TRUE(message.actions.empty());
}

TEST(DesktopNotification, OfALeaseNamesItsDevicesOnceAndCanExtendIt) {
    const auto ends = [](const char* device) {
        return notice("expiring", {{"device", device}, {"left", "600"}});
    };
    const DesktopNotification message = messageOf({ends("1"), ends("0")});
    EXPECT_EQ(message.sentences,
              Texts{"Environment 58: the lease of GPUs 0,1 ends at " +
                    core::nameTime(start + 10min) + "; \"genv extend\" prolongs it."});
    EXPECT_EQ(message.category, "x-genv.lease.ending");
    ASSERT_EQ(message.actions.size(), 1U);
    EXPECT_EQ(message.actions[0].kind, NotificationAction::Kind::Extend);
    EXPECT_EQ(message.actions[0].leaseEnd, start + 10min);
    const DesktopNotification whole = messageOf({notice("expiring", {{"left", "60"}})});
    EXPECT_NE(whole.sentences.at(0).find("this environment ends at"), std::string::npos);
}

TEST(DesktopNotification, SaysOneWarningForMemoryAndItsRule) {
    const auto memory =
        notice("memory", {{"device", "0"}, {"used", "4296015872"}, {"share", "4294967296"}});
    EXPECT_EQ(
        messageOf({memory}).sentences,
        Texts{"Environment 58: 4 GiB of GPU 0's memory is used, 1 MiB over the share of 4 GiB."});
    const DesktopNotification message =
        messageOf({memory, notice("warning", {{"rule", "env-memory"},
                                              {"message", "Environment 58 is using too much"},
                                              {"left", "30"}})});
    EXPECT_EQ(message.sentences,
              Texts{"Environment 58 is using too much; the rule env-memory acts at " +
                    core::nameTime(start + 30s) + "."});
    EXPECT_EQ(message.title, "The rule env-memory acts soon");
}

TEST(DesktopNotification, SaysTheOtherKinds) {
    const auto first = [](const Notice& of) { return messageOf({of}).sentences.at(0); };
    EXPECT_EQ(first(notice("granted", {{"devices", "0,1"}, {"waited", "300"}})),
              "Environment 58: GPUs 0,1 were granted after 5min in the queue.");
    EXPECT_EQ(first(notice("attached", {{"device", "1"}})),
              "Environment 58: GPU 1 was attached by an administrator (root).");
    EXPECT_EQ(first(notice("over-subscribed", {{"device", "1"}, {"by", "60"}})),
              "Environment 58: GPU 1 is now shared with root (environment 60).");
    EXPECT_EQ(first(notice("device-health", {{"device", "1"}, {"health", "xid-79"}})),
              "Environment 58: GPU 1 is unhealthy: the driver reported XID 79.");
    EXPECT_EQ(first(notice("device-health", {{"device", "1"}, {"health", "ok"}})),
              "Environment 58: GPU 1 is healthy again.");
    EXPECT_EQ(first(detached("1", "idle")),
              "Environment 58: GPU 1 was taken away because it was idle for too long.");
    EXPECT_EQ(first(notice("process-terminated",
                           {{"pid", "9"},
                            {"command", "python3"},
                            {"devices", "0"},
                            {"reason", "rule:non-env-processes"}},
                           "")),
              "Process 9 (python3) on GPU 0 was ended by the rule non-env-processes.");
    EXPECT_EQ(
        first(notice("open-refused",
                     {{"device", "1"}, {"pid", "9"}, {"command", "python3"}, {"count", "2"}}, "")),
        "Process 9 (python3) was refused GPU 1, which you do not hold; \"genv attach --index 1\" "
        "attaches it.");
    EXPECT_FALSE(subjectOf(notice("something-new", {})));
}

TEST(DesktopNotification, AdvisesOnTheRuleThatActed) {
    const auto hint = [](const std::string& rule) {
        return messageOf({notice("process-terminated",
                                 {{"pid", "9"}, {"devices", "0"}, {"reason", "rule:" + rule}})})
            .hint;
    };
    EXPECT_EQ(hint("non-env-processes"),
              "Run the program in an environment: \"genvctl run --gpus 1 -- COMMAND\".");
    EXPECT_EQ(hint("env-devices"),
              "Use only the GPUs in CUDA_VISIBLE_DEVICES; \"genv attach\" attaches another.");
    EXPECT_EQ(hint("env-memory"), "Use less GPU memory, or take a larger share with --gpu-memory.");
    EXPECT_EQ(hint("max-processes-per-user"), "\"genvctl limits\" shows your limits.");
}

TEST(DesktopNotification, SaysHowToGetAGpuThatTheKernelRefused) {
    Notice refused = notice("open-refused", {{"device", "1"}, {"pid", "9"}, {"command", "sh"}}, "");
    EXPECT_EQ(messageOf({refused}).title, "You do not hold GPU 1");
    EXPECT_EQ(messageOf({refused}).sentences,
              std::vector<std::string>{"Process 9 (sh) was refused GPU 1, which you do not hold; "
                                       "\"genv attach --index 1\" attaches it."});
    Notice held = refused;
    held.details["device"] = "2";
    held.details[heldByOthers] = "yes";
    EXPECT_EQ(messageOf({refused, held}).sentences.back(),
              "Process 9 (sh) was refused GPU 2, which you do not hold; others hold it: "
              "\"genv attach --index 2 --wait\" waits for it.");
}

TEST(DesktopNotification, SaysWhichGpusOthersStillUse) {
    const auto occupied = [](const std::string& device) {
        return notice("device-occupied", {{"device", device}, {"uuid", "GPU-" + device}});
    };
    EXPECT_EQ(messageOf({occupied("1")}).title, "GPU 1 is in use");
    EXPECT_EQ(messageOf({occupied("1"), occupied("0")}).title, "GPUs 0,1 are in use");
    EXPECT_EQ(
        messageOf({notice("device-occupied",
                          {{"device", "1"}, {"uuid", "GPU-1"}, {"pid", "12"}, {"owner", "0"}})})
            .sentences.at(0),
        "Environment 58: process 12 of root still runs on GPU 1.");
    EXPECT_EQ(messageOf({notice("device-occupied", {{"device", "1"},
                                                    {"uuid", "GPU-1"},
                                                    {"unaccounted-memory", "39728447488"}})})
                  .sentences.at(0),
              "Environment 58: 37 GiB in use by no process on GPU 1.");
}

TEST(DesktopNotification, SaysWhatStaysAndHowToEndIt) {
    const DesktopNotification message =
        messageOf({notice("lingering", {{"pids", "12,13"}, {"devices", "0,1"}})});
    EXPECT_EQ(message.title, "GPUs 0,1 are still in use");
    EXPECT_EQ(message.sentences.at(0), "Environment 58: its last shell is gone, and processes "
                                       "12, 13 still use GPUs 0,1.");
    EXPECT_EQ(message.hint, "\"genvctl deactivate --id 58 --kill\" ends them.");
}

Notice parked(std::map<std::string, std::string> details) {
    details.insert({{"devices", "1,0"}, {"memory", "12884901888"}, {"took", "6"}});
    return notice("parked", std::move(details));
}

TEST(DesktopNotification, OfAParkedEnvironmentSaysWhatIsFreeAndCanResumeIt) {
    const DesktopNotification asked = messageOf({parked({{"reason", "user"}})});
    EXPECT_EQ(asked.title, "Environment 58 is parked");
    EXPECT_EQ(asked.sentences,
              Texts{"Environment 58: it was parked: 12 GiB moved to host memory, and GPUs 0,1 are "
                    "free; \"genv resume\" lets its programs go on."});
    EXPECT_EQ(asked.urgency, Urgency::Low);
    EXPECT_EQ(asked.hint, "");
    ASSERT_EQ(asked.actions.size(), 1U);
    EXPECT_EQ(asked.actions[0].kind, NotificationAction::Kind::Resume);
    EXPECT_EQ(asked.actions[0].environment, "58");
    const DesktopNotification other = messageOf({parked({{"reason", "admin"}})});
    EXPECT_EQ(
        other.sentences.at(0).find("Environment 58: it was parked by an administrator (root): 12"),
        0U);
    EXPECT_EQ(other.urgency, Urgency::Normal);
    EXPECT_EQ(other.hint, "Ask an administrator why.");
}

TEST(DesktopNotification, OfAnEnvironmentParkedForOthersSaysWhyForWhomAndWhenItGoesOn) {
    const DesktopNotification taken = messageOf(
        {parked({{"reason", "taken"}, {"taker", "0"}, {"expected", "1790000000000000"}})});
    EXPECT_EQ(taken.title, "Environment 58 is parked");
    EXPECT_EQ(taken.sentences,
              Texts{"Environment 58: it was parked for a request of root: 12 GiB moved from GPUs "
                    "0,1 to host memory; its programs go on by themselves when those GPUs are free "
                    "again, expected about " +
                    core::nameTime(core::fromMicroseconds(1790000000000000)) + "."});
    EXPECT_EQ(taken.urgency, Urgency::Normal);
    EXPECT_TRUE(taken.actions.empty()) << "it is in the queue already";
    EXPECT_EQ(messageOf({parked({{"reason", "idle"}})}).sentences,
              Texts{"Environment 58: it was parked because its GPUs were idle and a request waits "
                    "for them: 12 GiB moved from GPUs 0,1 to host memory; its programs go on by "
                    "themselves when those GPUs are free again."});
    const DesktopNotification expired = messageOf({parked({{"reason", "expired"}})});
    EXPECT_EQ(expired.sentences,
              Texts{"Environment 58: it was parked because its lease ended: 12 GiB moved to host "
                    "memory, and GPUs 0,1 are free; \"genv resume\" lets its programs go on with a "
                    "new lease."});
    ASSERT_EQ(expired.actions.size(), 1U);
    EXPECT_EQ(expired.actions[0].kind, NotificationAction::Kind::Resume);
}

TEST(DesktopNotification, OfALoanThatEndsSaysForWhomAndWhen) {
    const DesktopNotification message =
        messageOf({notice("loan-ending", {{"taker", "0"}, {"left", "60"}})});
    EXPECT_EQ(message.title, "Environment 58 ends soon");
    EXPECT_EQ(message.sentences,
              Texts{"Environment 58: it cannot be parked for a request of root, and ends at " +
                    core::nameTime(start + 60s) + "; save your work."});
    EXPECT_EQ(message.urgency, Urgency::Critical);
}

TEST(DesktopNotification, AboutParkingSaysOnlyWhatIsSoNow) {
    const DesktopNotification message = messageOf(
        {parked({{"reason", "user"}}),
         notice("resume-delayed", {{"message", "GPU 1 has 2 GiB free, and 12 GiB are needed"}}),
         notice("resumed", {{"devices", "0,1"}})});
    EXPECT_EQ(message.title, "Environment 58 goes on");
    EXPECT_EQ(message.sentences, Texts{"Environment 58: its programs go on on GPUs 0,1."});
    EXPECT_TRUE(message.actions.empty());
}

TEST(DesktopNotification, OfParkingThatFailsSaysWhyAndWhatToDo) {
    const std::string problem = "process 9 (a\"b) uses MPS; end it, or run \"x\"";
    EXPECT_EQ(messageOf({notice("parking-failed", {{"message", problem}})}).sentences,
              Texts{"Environment 58: it was not parked: " + problem + "."});
    const DesktopNotification delayed =
        messageOf({notice("resume-delayed", {{"message", problem}})});
    EXPECT_EQ(delayed.title, "Environment 58 cannot go on yet");
    EXPECT_EQ(delayed.sentences,
              Texts{"Environment 58: its programs cannot go on yet: " + problem + "."});
    EXPECT_EQ(messageOf({notice("parking-failed", {{"message", "a\x1b[2J"}})}).sentences,
              Texts{R"(Environment 58: it was not parked: a\x1b[2J.)"});
}

TEST(DesktopNotification, OfALostProcessStaysBesideTheEndOfTheResume) {
    const auto lost = [](const char* pid) {
        return notice("process-lost",
                      {{"pid", pid}, {"command", "python3"}, {"message", "the driver lost it"}});
    };
    const DesktopNotification message =
        messageOf({lost("9"), lost("10"), notice("resumed", {{"devices", "0"}})});
    EXPECT_EQ(message.title, "Processes 9 (python3), 10 (python3) are lost");
    EXPECT_EQ(message.sentences,
              (Texts{"Environment 58: processes 9 (python3), 10 (python3) are lost and cannot go "
                     "on: the driver lost it.",
                     "Its programs go on on GPU 0."}));
    EXPECT_EQ(message.urgency, Urgency::Critical);
}

TEST(DesktopNotification, OfTooLongParkingSaysWhenTheEnvironmentEnds) {
    const DesktopNotification message = messageOf({notice("parked-long", {{"left", "60"}})});
    EXPECT_EQ(message.title, "Environment 58 ends soon");
    EXPECT_EQ(message.sentences,
              Texts{"Environment 58: it was parked for the longest time that is allowed, and ends "
                    "at " +
                    core::nameTime(start + 60s) +
                    "; \"genvctl resume --id 58\" lets its programs go on."});
    EXPECT_EQ(message.urgency, Urgency::Critical);
    ASSERT_EQ(message.actions.size(), 1U);
    EXPECT_EQ(message.actions[0].kind, NotificationAction::Kind::Resume);
}

TEST(DesktopNotification, SaysWhichParkedProcessesStayWithoutAShell) {
    const DesktopNotification message = messageOf(
        {notice("lingering", {{"pids", "12"}, {"devices", ""}, {"memory", "12884901888"}})});
    EXPECT_EQ(message.title, "Environment 58 stays parked");
    EXPECT_EQ(message.sentences,
              Texts{"Environment 58: its last shell is gone, and process 12 is parked with 12 GiB "
                    "of host memory."});
    EXPECT_EQ(message.hint, "\"genvctl resume --id 58\" lets it go on.");
}

TEST(DesktopNotification, QuotesNothingAsItIs) {
    const DesktopNotification message = messageOf(
        {notice("ended", {{"reason", "rule:\x1b[2J"}, {"name", "a\x1b]0;x\x07\"b\\"}}, "5\n8")});
    EXPECT_EQ(message.title, R"(Environment a\x1b]0;x\x07\"b\\ (5\x0a8) was ended)");
    EXPECT_EQ(
        message.sentences.at(0),
        R"(Environment a\x1b]0;x\x07\"b\\ (5\x0a8): the environment was ended by the rule \x1b[2J.)");
}

TEST(DesktopNotification, KeepsToBounds) {
    std::vector<Notice> many;
    for (int pid = 1; pid <= 1000; ++pid)
        many.push_back(notice("process-terminated", {{"pid", std::to_string(pid)},
                                                     {"devices", "0"},
                                                     {"reason", "rule:max-processes-per-user"}}));
    const DesktopNotification message = messageOf(many);
    EXPECT_EQ(
        message.sentences,
        (Texts{
            "Environment 58: processes 1, 2, 3, 4, 5, 6, 7, 8 and 56 more on GPU 0 were ended by "
            "the rule max-processes-per-user.",
            "This happened 936 more times."}));
    const DesktopNotification summary = summarize(std::vector(20, message), 5);
    EXPECT_EQ(summary.title, "25 messages about your GPUs");
    EXPECT_EQ(summary.sentences.size(), 9U);
    EXPECT_EQ(summary.sentences.back(), "And 17 more.");
    EXPECT_EQ(summary.urgency, Urgency::Critical);
}

TEST(DesktopNotification, ThatNobodySawYetSaysWhatCameBeforeToo) {
    const DesktopNotification older = messageOf({detached("1")});
    const DesktopNotification newer = messageOf({detached("1"), detached("2")});
    const DesktopNotification both = joined(older, messageOf({detached("2")}));
    EXPECT_EQ(both.sentences.size(), 2U);
    EXPECT_EQ(joined(newer, newer).sentences.size(), 1U);
}

TEST(Gatherer, SaysAllOfItAgainWhereAMessageIsReplaced) {
    Gatherer gatherer(true);
    gatherer.add(detached("0"), start);
    EXPECT_EQ(gatherer.take(start).size(), 1U);
    EXPECT_TRUE(gatherer.take(start).empty()) << "nothing is new";
    gatherer.add(detached("1"), start + 2s);
    EXPECT_EQ(gatherer.take(start + 2s).at(0).title, "GPUs 0,1 were taken away");
    gatherer.add(detached("2"), start + 13s);
    EXPECT_EQ(gatherer.take(start + 13s).at(0).title, "GPU 2 was taken away") << "another matter";
    gatherer.forget("58 admin");
    gatherer.add(detached("3"), start + 14s);
    EXPECT_EQ(gatherer.take(start + 14s).at(0).title, "GPU 3 was taken away") << "that was read";
}

TEST(Gatherer, SaysNothingTwiceWhereNothingIsReplaced) {
    Gatherer gatherer(false);
    gatherer.add(detached("0"), start);
    gatherer.take(start);
    gatherer.add(detached("1"), start);
    EXPECT_EQ(gatherer.take(start).at(0).title, "GPU 1 was taken away");
}

TEST(Gatherer, KeepsEnvironmentsAndCausesApart) {
    Gatherer gatherer(true);
    gatherer.add(detached("0"), start);
    gatherer.add(detached("1", "idle"), start);
    Notice other = detached("2");
    other.environment = "59";
    gatherer.add(other, start);
    EXPECT_EQ(gatherer.take(start).size(), 3U);
}

TEST(Terminal, WrapsWordsAndColorsOnlyWhereItMay) {
    const DesktopNotification message = messageOf({detached("1")});
    const std::string line = terminalText(message, start, {});
    EXPECT_EQ(line.substr(8),
              " genv: Environment 58: GPU 1 was taken away by an administrator "
              "(root). Ask an administrator why; \"genv attach\" attaches another.\n");
    const std::string narrow = terminalText(message, start, {40, false});
    EXPECT_EQ(narrow.substr(8), " genv: Environment 58: GPU 1 was\n"
                                "    taken away by an administrator\n"
                                "    (root). Ask an administrator why;\n"
                                "    \"genv attach\" attaches another.\n");
    const std::string coloured = terminalText(message, start, {0, true});
    EXPECT_EQ(coloured.substr(8, 27), " \x1b[1;33mgenv:\x1b[0m Environme");
}

} // namespace
} // namespace genv::notify
