// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/desktop_notification.hpp"

#include "client/notify/group_descriptions.hpp"
#include "client/notify/notice_groups.hpp"
#include "core/base/text.hpp"
#include "core/base/user_database.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::notify {

namespace {

// The maximum number of lines in a summary.
constexpr std::size_t maxLines = 8;

} // namespace

std::optional<std::string> subjectOf(const Notice& notice) {
    if (!isShown(notice.kind))
        return std::nullopt;
    const Details details(notice);
    const std::string reason = details.text("reason");
    std::string cause = notice.kind;
    if (isAboutParking(notice.kind))
        cause = "parking";
    else if (notice.kind == "granted" || notice.kind == "device-occupied" ||
             notice.kind == "attached")
        cause = "grant";
    else if (notice.kind == "expiring" || reason == "expired")
        cause = "lease";
    else if (notice.kind == "device-health" || reason == "device-lost")
        cause = "health";
    else if (notice.kind == "warning")
        cause = details.text("rule") == "max-lifetime" ? "lease" : details.text("rule");
    else if (notice.kind == "memory")
        cause = "env-memory";
    else if (reason == "idle")
        cause = "idle-timeout";
    else if (!reason.empty())
        cause = reason.substr(reason.starts_with(rulePrefix) ? rulePrefix.size() : 0);
    return notice.environment + ' ' + cause;
}

std::optional<std::string> textOf(const ReceivedNotice& received) {
    if (!isShown(received.notice.kind))
        return std::nullopt;
    std::string text;
    for (const Group& group : grouped({received}))
        text += (text.empty() ? "" : "; ") + describe(group).sentence;
    return text;
}

DesktopNotification compose(const std::string& subject, const std::vector<ReceivedNotice>& received,
                            std::size_t missing) {
    DesktopNotification message;
    message.subject = subject;
    bool isFirst = true;
    for (const Group& group : grouped(received)) {
        Part part = describe(group);
        const bool isAlone = group.environment.empty() || group.kind == "warning";
        std::string sentence = isFirst && !isAlone
                                   ? fmt::format("Environment {}: {}",
                                                 nameEnvironment(group.last.notice), part.sentence)
                                   : capitalised(part.sentence);
        message.sentences.push_back(std::move(sentence) + ".");
        // If there are several groups, the most urgent one determines the title of the message.
        if (isFirst || part.urgency > message.urgency) {
            message.urgency = part.urgency;
            message.category = std::move(part.category);
            message.title = std::move(part.title);
            message.hint = std::move(part.hint);
        }
        const bool isKnown =
            part.action && std::any_of(message.actions.begin(), message.actions.end(),
                                       [&](const NotificationAction& each) {
                                           return each.kind == part.action->kind;
                                       });
        if (part.action && !isKnown)
            message.actions.push_back(*std::move(part.action));
        isFirst = false;
    }
    if (missing > 0)
        message.sentences.push_back(
            fmt::format("This happened {}.", core::counted(missing, "more time")));
    return message;
}

DesktopNotification joined(const DesktopNotification& older, DesktopNotification newer) {
    std::vector<std::string> sentences = older.sentences;
    for (std::string& sentence : newer.sentences) {
        if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
            sentences.push_back(std::move(sentence));
    }
    if (sentences.size() > maxLines)
        sentences.erase(sentences.begin(), sentences.end() - maxLines);
    newer.sentences = std::move(sentences);
    newer.urgency = std::max(newer.urgency, older.urgency);
    return newer;
}

DesktopNotification summarize(const std::vector<DesktopNotification>& messages,
                              std::size_t missing) {
    DesktopNotification summary;
    summary.subject = "summary";
    summary.urgency = Urgency::Low;
    summary.category = "x-genv.summary";
    summary.title = fmt::format("{} messages about your GPUs", messages.size() + missing);
    for (const DesktopNotification& message : messages) {
        summary.urgency = std::max(summary.urgency, message.urgency);
        if (summary.sentences.size() < maxLines && !message.sentences.empty())
            summary.sentences.push_back(message.sentences.front());
    }
    const std::size_t others = messages.size() + missing - summary.sentences.size();
    if (others > 0)
        summary.sentences.push_back(fmt::format("And {} more.", others));
    summary.hint = "\"genvctl devices\" shows the current holders.";
    return summary;
}

std::string userName(std::uint32_t uid) {
    const auto user = core::shownUser(uid);
    return user ? core::escaped(user->name) : fmt::format("uid {}", uid);
}

} // namespace genv::notify
