// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/letter.hpp"

#include "client/messages/model/event_json.hpp"
#include "core/base/duration.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace genv::messages {

namespace {

constexpr std::size_t maxLines = 20;

// Users can choose an id, which is a name then.
bool isNumber(std::string_view id) {
    if (id.starts_with("job-"))
        id.remove_prefix(std::string_view("job-").size());
    return id.find_first_not_of("0123456789.-@") == std::string_view::npos;
}

// Leaves out what the user does not want to be sent.
MessageEvent withoutNames(MessageEvent event) {
    event.name.clear();
    event.by.clear();
    if (!isNumber(event.environment))
        event.environment.clear();
    return event;
}

std::string subjectOf(const MessageEvent& event) {
    const std::string name = event.name.empty() ? "" : fmt::format(" ({})", event.name);
    if (event.job)
        return fmt::format("Job {}{}", *event.job, name);
    return event.environment.empty() ? ""
                                     : fmt::format("Environment {}{}", event.environment, name);
}

std::string headlineOf(const MessageEvent& event) {
    const std::string job = event.job ? fmt::format("Job {}", *event.job) : "A job";
    switch (event.kind) {
    case Kind::JobEnded:
        return job + " ended";
    case Kind::JobFailed:
        return job + " failed";
    case Kind::Granted:
        return "GPUs were granted";
    case Kind::Taken:
        return "GPUs were taken away";
    case Kind::Lease:
        return "A lease ends";
    case Kind::Parked:
        return "An environment was parked or resumed";
    case Kind::Memory:
        return "GPU memory is nearly full";
    case Kind::Unhealthy:
        return "The health of a GPU changed";
    case Kind::Test:
        break;
    }
    return "Test of messages";
}

bool isUrgent(const MessageEvent& event) {
    return event.kind == Kind::JobFailed || event.kind == Kind::Taken ||
           event.kind == Kind::Unhealthy;
}

} // namespace

std::string sentenceOf(const MessageEvent& event, bool names) {
    std::string text = subjectOf(names ? event : withoutNames(event));
    text += (text.empty() ? "" : ": ") + event.status;
    std::string details;
    const auto add = [&details](const std::string& detail) {
        details += (details.empty() ? "" : ", ") + detail;
    };
    if (!event.gpus.empty())
        add(core::nameGpus(event.gpus));
    else if (event.gpuCount > 0)
        add(core::counted(event.gpuCount, "GPU"));
    if (event.duration.count() > 0)
        add(core::formatDuration(event.duration));
    if (names && !event.by.empty())
        add("requested by " + event.by);
    return details.empty() ? text : fmt::format("{} ({})", text, details);
}

Letter letterOf(const Contents& contents) {
    const std::size_t count = contents.events.size() + contents.missing;
    const std::string what = count == 1 ? headlineOf(contents.events.front())
                                        : fmt::format("{} messages about your GPUs", count);
    Letter letter{fmt::format("{}: {}", contents.machine, what), {}, false};
    for (const MessageEvent& event : contents.events) {
        letter.isUrgent = letter.isUrgent || isUrgent(event);
        if (letter.lines.size() < maxLines)
            letter.lines.push_back(sentenceOf(event, contents.names));
    }
    if (count > letter.lines.size())
        letter.lines.push_back(
            fmt::format("And {}.", core::counted(count - letter.lines.size(), "further message")));
    return letter;
}

std::string textOf(const Letter& letter) {
    std::string text;
    for (const std::string& line : letter.lines)
        text += line + '\n';
    return text;
}

std::string jsonOf(const Contents& contents) {
    auto list = nlohmann::json::array();
    for (const MessageEvent& event : contents.events) {
        auto json = toJson(contents.names ? event : withoutNames(event));
        json["text"] = sentenceOf(event, contents.names);
        list.push_back(std::move(json));
    }
    const nlohmann::json json{{"version", 1},
                              {"machine", contents.machine},
                              {"title", letterOf(contents).title},
                              {"missing", contents.missing},
                              {"messages", std::move(list)}};
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace genv::messages
