// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/webhook_request.hpp"

#include "client/messages/model/encoded_words.hpp"
#include "core/base/markup.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace genv::messages {

namespace {

// Discord refuses more than 2000 characters, ntfy makes a file of more than 4096 bytes, and Slack
// cuts after 4000 characters. All count for one byte at least.
constexpr std::size_t maxDiscord = 1900;
constexpr std::size_t maxNtfy = 4000;
constexpr std::size_t maxSlack = 3900;

constexpr const char* jsonHeader = "Content-Type: application/json";

std::string dumped(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Joins the lines that fit.
template <typename Escape>
std::string joined(const std::vector<std::string>& lines, std::size_t max, Escape escape) {
    constexpr std::string_view rest = "...";
    std::string text;
    for (const std::string& line : lines) {
        const std::string next = escape(line);
        if (text.size() + next.size() + rest.size() + 1 > max)
            return text.append(rest);
        text.append(text.empty() ? "" : "\n").append(next);
    }
    return text;
}

std::vector<std::string> withTitle(const Letter& letter) {
    std::vector<std::string> lines{letter.title};
    lines.insert(lines.end(), letter.lines.begin(), letter.lines.end());
    return lines;
}

std::string escapedForDiscord(std::string_view text) {
    constexpr std::string_view markdown = "\\*_~`|>#-[]()<:";
    std::string result;
    for (const char c : text) {
        if (markdown.find(c) != std::string_view::npos)
            result += '\\';
        result += c;
    }
    return result;
}

WebhookRequest slackRequest(const Letter& letter) {
    return {{jsonHeader},
            dumped({{"text", joined(withTitle(letter), maxSlack, core::escapedForMarkup)},
                    {"mrkdwn", false}})};
}

// No name in a message may notify people.
WebhookRequest discordRequest(const Letter& letter) {
    return {{jsonHeader},
            dumped({{"content", joined(withTitle(letter), maxDiscord, escapedForDiscord)},
                    {"allowed_mentions", {{"parse", nlohmann::json::array()}}}})};
}

WebhookRequest ntfyRequest(const Letter& letter) {
    return {{"Content-Type: text/plain; charset=utf-8", "Title: " + headerText(letter.title, " "),
             letter.isUrgent ? "Priority: high" : "Priority: default",
             letter.isUrgent ? "Tags: warning" : "Tags: computer"},
            joined(letter.lines, maxNtfy, [](const std::string& line) { return line; })};
}

} // namespace

WebhookRequest requestOf(const Contents& contents, Format format) {
    switch (format) {
    case Format::Slack:
        return slackRequest(letterOf(contents));
    case Format::Discord:
        return discordRequest(letterOf(contents));
    case Format::Ntfy:
        return ntfyRequest(letterOf(contents));
    case Format::Json:
        break;
    }
    return {{jsonHeader}, jsonOf(contents)};
}

} // namespace genv::messages
