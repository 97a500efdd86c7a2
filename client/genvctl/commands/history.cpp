// SPDX-License-Identifier: LGPL-2.1-or-later
// history: prints past events from the service's journal.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/objects/event_objects.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/history_options.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/event_reasons.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/model/slurm_job.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

namespace genv::ctl {

namespace {

struct HistoryArguments {
    HistoryOptions history;
    ListingOptions listing;
    std::string environment;
    std::string job;
    std::string device;
    std::vector<std::string> kinds;
    std::uint32_t lines = 0; // 0 for all
    bool reverse = false;
};

std::string deviceUuid(Client& client, const std::string& given) {
    const auto index = parseNumber(given);
    if (!index)
        return given;
    for (const Device& device : client.devices()) {
        if (device.index == *index)
            return device.uuid;
    }
    throw Failure(ExitStatus::Failed, fmt::format("There is no device {}", given),
                  "\"genvctl devices\" lists the devices; one that is gone is named by its UUID.");
}

// Returns the number of the job; nothing without --job.
std::optional<core::SlurmJobId> wantedJob(const HistoryArguments& arguments) {
    if (arguments.job.empty())
        return std::nullopt;
    if (!arguments.environment.empty())
        throw Failure(ExitStatus::Usage, "--job and --environment cannot be combined");
    const auto job = core::parseSlurmJobId(arguments.job);
    if (!job)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("invalid job \"{}\": expected the number of a job", shown(arguments.job)));
    return job;
}

// Jobs of genv and of Slurm have numbers of their own.
bool isOfJob(const HistoryEvent& event, core::SlurmJobId job) {
    return event.environment && jobOfEnvironment(*event.environment) == job;
}

std::deque<HistoryEvent> wantedEvents(Context& context, const HistoryArguments& arguments) {
    HistoryQuery query = arguments.history.query(context, currentTime() - std::chrono::hours{24});
    const auto job = wantedJob(arguments);
    if (!arguments.environment.empty())
        query.setEnvironment(arguments.environment);
    if (!arguments.device.empty())
        query.setDeviceUuid(deviceUuid(context.client(), arguments.device));
    query.setKinds(arguments.kinds);
    std::deque<HistoryEvent> events;
    context.authorized([&](Client& client) {
        events.clear();
        client.history(query, [&](const HistoryEvent& event) {
            if (job && !isOfJob(event, *job))
                return;
            events.push_back(event);
            if (arguments.lines > 0 && events.size() > arguments.lines)
                events.pop_front();
        });
    });
    if (arguments.reverse)
        std::reverse(events.begin(), events.end());
    return events;
}

std::string_view lastPart(std::string_view name) {
    return name.substr(name.find_last_of('.') + 1);
}

// Returns the name of the user who caused the event: "bob", or "root (bob)" for bob as root.
std::string callerName(const HistoryEvent& event) {
    std::string name = event.callerUser.value_or(std::to_string(*event.caller));
    if (event.callerLogin)
        name += fmt::format(" ({})",
                            event.callerLoginUser.value_or(std::to_string(*event.callerLogin)));
    return name;
}

// Returns the user who caused the event, unless it is the affected user. Events that no user
// requested were caused by the service itself.
std::string actorText(const HistoryEvent& event) {
    if (!event.caller || !event.uid || event.caller == event.uid)
        return "";
    const bool isAskedFor = !event.reason || *event.reason == "admin" || *event.reason == "user";
    if (*event.caller == 0 && (!isAskedFor || !event.callerUser))
        return "";
    return "by " + callerName(event);
}

// Returns the user who caused the event, or else the reason.
std::string causeText(const HistoryEvent& event) {
    const bool isAskedFor = !event.reason || *event.reason == "admin";
    std::string actor = actorText(event);
    if (!actor.empty() && (isAskedFor || *event.reason == "user"))
        return actor;
    return event.reason ? reasonText(*event.reason) : "";
}

// Returns the fields that add information to the kind of the event.
std::string fieldsText(const HistoryEvent& event) {
    std::vector<std::string> parts;
    const auto add = [&](bool holds, auto text) {
        if (holds)
            parts.push_back(text());
    };
    add(!event.devices.empty(), [&] {
        auto devices = event.devices;
        std::ranges::sort(devices);
        return core::nameGpus(devices);
    });
    add(event.count && event.devices.empty(), [&] { return core::counted(*event.count, "GPU"); });
    add(event.pid.has_value(), [&] { return fmt::format("process {}", *event.pid); });
    add(event.shareBytes.has_value(), [&] { return core::nameMemory({*event.shareBytes}); });
    add(event.overSubscribed, [] { return "over-subscribed"; });
    add(event.health.has_value(), [&] { return *event.health; });
    add(event.held.has_value(), [&] { return "after " + spanText(*event.held); });
    add(event.waited.has_value(), [&] { return "waited " + spanText(*event.waited); });
    add(event.left.has_value(), [&] { return "in " + spanText(*event.left); });
    const std::string cause = causeText(event);
    return joined(parts, " ") + (parts.empty() || cause.empty() ? "" : ", ") + cause;
}

// The journal message is complete by itself: it contains the caller, the method and the full name
// of the error before the text that the caller received.
std::string refusalText(const HistoryEvent& event) {
    std::string_view message = event.message;
    if (event.error) {
        const std::string before = *event.error + ": ";
        if (const std::size_t at = message.find(before); at != std::string_view::npos)
            message.remove_prefix(at + before.size());
    }
    std::vector<std::string> parts;
    if (event.method)
        parts.emplace_back(lastPart(*event.method));
    std::string actor = actorText(event);
    if (actor.empty() && event.caller && event.callerLogin)
        actor = "by " + callerName(event); // the column USER has only "root"
    if (!actor.empty())
        parts.push_back(std::move(actor));
    return parts.empty() ? std::string(message)
                         : fmt::format("{}: {}", joined(parts, " "), message);
}

bool isAboutParking(const std::string& kind) {
    constexpr std::array kinds{"parked",      "resumed",      "parking-failed", "resume-delayed",
                               "parked-long", "taking-began", "taking-ended",   "loan-ending"};
    return std::ranges::find(kinds, kind) != kinds.end();
}

// Returns the sentence of the journal without what other columns have.
std::string parkingSentence(const HistoryEvent& event) {
    std::string text = event.message;
    const std::uint32_t uid = event.uid.value_or(0);
    const std::string environment =
        fmt::format("environment {} of ", event.environment.value_or(""));
    for (const std::string& owner :
         {fmt::format("{} ({}) ", event.user.value_or(""), uid), fmt::format("uid {} ", uid)}) {
        if (text.starts_with(environment + owner))
            text.erase(0, environment.size() + owner.size());
    }
    if (const std::size_t at = text.rfind(" (reason "); event.reason && at != std::string::npos)
        text.erase(at);
    const std::string actor = actorText(event);
    return actor.empty() ? text : actor + ": " + text;
}

// The sentences of some kinds contain information that is not in any field.
std::string detailsText(const HistoryEvent& event) {
    if (event.kind == "refused")
        return refusalText(event);
    if (isAboutParking(event.kind) && !event.message.empty())
        return parkingSentence(event);
    const std::string text = fieldsText(event);
    const bool isSentence = event.kind == "rule-warning" || event.kind == "policy-changed" ||
                            event.kind == "open-refused" || event.kind == "process-lost" ||
                            text.empty();
    return isSentence && !event.message.empty() ? event.message : text;
}

// For a time in another year, the day is more important than the seconds.
std::string timeText(Time time, Time now) {
    const std::string full = core::nameTime(time).substr(4); // YYYY-MM-DD HH:MM:SS
    const bool isThisYear = full.substr(0, 4) == core::nameTime(now).substr(4, 4);
    return isThisYear ? full.substr(5) : full.substr(0, 16);
}

std::string userText(const HistoryEvent& event) {
    if (event.uid)
        return event.user.value_or(std::to_string(*event.uid));
    if (event.caller && event.kind == "refused")
        return event.callerUser.value_or(std::to_string(*event.caller));
    return "";
}

// Makes the columns as wide as their content, so that the details get the rest of 80 columns.
Table tableFor(const std::vector<std::vector<std::string>>& rows) {
    std::vector<Table::Column> columns{{"TIME"}, {"EVENT"}, {"ENV ID"}, {"USER"}, {"DETAILS", 0}};
    constexpr std::array<std::size_t, 4> widest{17, 20, 16, 16};
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
        std::size_t width = columns[i].title.size();
        for (const auto& row : rows)
            width = std::max(width, cells(shown(row[i])));
        columns[i].width = std::min(width, widest[i]) + 1;
    }
    return Table(std::move(columns));
}

void history(Context& context, const HistoryArguments& arguments) {
    const auto events = wantedEvents(context, arguments);
    if (context.options.json != JsonMode::Off) {
        for (const HistoryEvent& event : events)
            printJson(context.options, eventObject(event));
        return;
    }
    const Time now = currentTime();
    std::vector<std::vector<std::string>> rows;
    for (const HistoryEvent& event : events)
        rows.push_back(
            {arguments.listing.format == "csv" ? timestamp(event.time) : timeText(event.time, now),
             event.kind, event.environment.value_or(""), userText(event), detailsText(event)});
    Table table = tableFor(rows);
    for (auto& row : rows)
        table.add(std::move(row));
    arguments.listing.print(context.options, std::move(table));
}

// Returns the kinds of events, in the order in which a shell offers them.
OneOf eventKinds() {
    return {"environment-started",
            "environment-ended",
            "lingering",
            "attached",
            "detached",
            "in-use",
            "idle",
            "wait-started",
            "wait-granted",
            "wait-ended",
            "process-terminated",
            "refused",
            "policy-changed",
            "lease-ending",
            "rule-warning",
            "device-health",
            "device-added",
            "device-removed",
            "open-refused",
            "isolation-changed",
            "parked",
            "resumed",
            "parking-failed",
            "resume-delayed",
            "process-lost",
            "parked-long",
            "taking-began",
            "taking-ended",
            "loan-ending"};
}

} // namespace

constexpr std::array historyExamples{
    Example{"Show your events of the last two days", "genvctl history --since -2d"},
    Example{"Show the environments of all users that ended today",
            "genvctl history --all --since today --kind environment-ended"},
    Example{"Show the last 20 events of GPU 3", "genvctl history --device 3 --lines 20"},
};

void addHistory(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "history", "Show past events",
                   {.onCluster = cluster::aboutThisMachine("\"sacct\" shows the jobs of the past."),
                    .examples = historyExamples});
    const auto arguments = std::make_shared<HistoryArguments>();
    arguments->history.addTo(*command, "a day ago");
    arguments->listing.addFormatTo(*command);
    addOption(*command, "--environment", arguments->environment,
              "Show only events of environment ID", {.values = ValueKind::Environment})
        ->type_name("ID");
    addOption(*command, "--job", arguments->job,
              "Show only events of this job, of genv or of Slurm", {.values = ValueKind::Free})
        ->type_name("JOB");
    addOption(*command, "--device", arguments->device,
              "Show only events of this device, by index or UUID", {.values = ValueKind::Device})
        ->type_name("DEVICE");
    addOption(*command, "--kind", arguments->kinds,
              "Show only events of this kind; may be repeated", {.values = eventKinds()})
        ->type_name("KIND")
        ->delimiter(',');
    addOption(*command, "-n,--lines", arguments->lines, "Show only the last N events",
              {.values = ValueKind::Free})
        ->type_name("N")
        ->check(CLI::PositiveNumber.description(""));
    command->add_flag("--reverse", arguments->reverse, "Show the newest events first");
    command->footer(
        "WHEN is now, today, yesterday, -2h, \"2h ago\", YYYY-MM-DD, HH:MM, @SECONDS,\n"
        "\"YYYY-MM-DD HH:MM\" or \"DD/MM/YYYY HH:MM:SS\". With --json=short, prints one\n"
        "object per line. The settings of the journal limit how far back events go.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { history(context, *arguments); };
    });
}

} // namespace genv::ctl
