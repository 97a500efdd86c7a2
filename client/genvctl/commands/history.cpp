// SPDX-License-Identifier: LGPL-2.1-or-later
// history: prints past events from the service's journal.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/history_options.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/reasons.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "client/jobs/model/environment_id.hpp"
#include "client/slurm_jobs.hpp"
#include "core/sentences.hpp"
#include "core/slurm_job.hpp"

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

std::optional<std::string> jobOf(const std::string& environment) {
    if (const auto job = jobs::jobOf(environment))
        return std::to_string(*job);
    return client::slurmJobOf(environment);
}

// Jobs of genv and of Slurm have numbers of their own.
bool isOfJob(const HistoryEvent& event, core::SlurmJobId job) {
    return event.environment && (*event.environment == core::environmentIdOf(job) ||
                                 jobs::jobOf(*event.environment) == job);
}

/// An event with the user who logged in and then acted as root, if known.
struct DetailedEvent : HistoryEvent {
    std::optional<std::uint32_t> callerLogin;
    std::optional<std::string> callerLoginUser;
};

std::deque<DetailedEvent> wantedEvents(Context& context, const HistoryArguments& arguments) {
    HistoryQuery query = arguments.history.query(context, currentTime() - std::chrono::hours{24});
    const auto job = wantedJob(arguments);
    if (!arguments.environment.empty())
        query.setEnvironment(arguments.environment);
    if (!arguments.device.empty())
        query.setDeviceUuid(deviceUuid(context.client(), arguments.device));
    query.setKinds(arguments.kinds);
    std::deque<DetailedEvent> events;
    context.authorized([&](Client& client) {
        events.clear();
        client.historyWithDetails(
            query, [&](const HistoryEvent& event, const HistoryDetails& details) {
                if (job && !isOfJob(event, *job))
                    return;
                events.push_back({event, details.callerLogin, details.callerLoginUser});
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
std::string callerName(const DetailedEvent& event) {
    std::string name = event.callerUser.value_or(std::to_string(*event.caller));
    if (event.callerLogin)
        name += fmt::format(" ({})",
                            event.callerLoginUser.value_or(std::to_string(*event.callerLogin)));
    return name;
}

// Returns the user who caused the event, unless it is the affected user. Events that no user
// requested were caused by the service itself.
std::string actorText(const DetailedEvent& event) {
    if (!event.caller || !event.uid || event.caller == event.uid)
        return "";
    const bool isAskedFor = !event.reason || *event.reason == "admin" || *event.reason == "user";
    if (*event.caller == 0 && (!isAskedFor || !event.callerUser))
        return "";
    return "by " + callerName(event);
}

// Returns the user who caused the event, or else the reason.
std::string causeText(const DetailedEvent& event) {
    const bool isAskedFor = !event.reason || *event.reason == "admin";
    std::string actor = actorText(event);
    if (!actor.empty() && (isAskedFor || *event.reason == "user"))
        return actor;
    return event.reason ? reasonText(*event.reason) : "";
}

// Returns the fields that add information to the kind of the event.
std::string fieldsText(const DetailedEvent& event) {
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
std::string refusalText(const DetailedEvent& event) {
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

// The sentences of some kinds contain information that is not in any field.
std::string detailsText(const DetailedEvent& event) {
    if (event.kind == "refused")
        return refusalText(event);
    const std::string text = fieldsText(event);
    const bool isSentence = event.kind == "rule-warning" || event.kind == "policy-changed" ||
                            event.kind == "open-refused" || text.empty();
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

Json spanJson(const std::optional<std::chrono::microseconds>& span) {
    return span ? Json(span->count()) : Json(nullptr);
}

// Omits fields that an event does not have, so that the lines stay readable.
Json eventJson(const DetailedEvent& event) {
    Json json = {{"time", toJson(event.time)},
                 {"event", event.kind},
                 {"environment", orNull(event.environment)},
                 {"job", orNull(jobOf(event.environment.value_or("")))},
                 {"name", orNull(event.name)},
                 {"uid", orNull(event.uid)},
                 {"user", orNull(event.user)},
                 {"devices", event.devices},
                 {"uuids", event.uuids},
                 {"model", orNull(event.model)},
                 {"gpu_memory", orNull(event.shareBytes)},
                 {"over_subscribed", event.overSubscribed ? Json(true) : Json(nullptr)},
                 {"reason", orNull(event.reason)},
                 {"caller", orNull(event.caller)},
                 {"caller_user", orNull(event.callerUser)},
                 {"caller_login", orNull(event.callerLogin)},
                 {"caller_login_user", orNull(event.callerLoginUser)},
                 {"method", orNull(event.method)},
                 {"action", orNull(event.action)},
                 {"error", orNull(event.error)},
                 {"pid", orNull(event.pid)},
                 {"rule", orNull(event.rule)},
                 {"health", orNull(event.health)},
                 {"count", orNull(event.count)},
                 {"waited", spanJson(event.waited)},
                 {"held", spanJson(event.held)},
                 {"left", spanJson(event.left)},
                 {"since", event.since ? toJson(*event.since) : Json(nullptr)},
                 {"settings", orNull(event.settings)},
                 {"message", event.message},
                 {"cursor", event.cursor}};
    Json kept = Json::object();
    for (const auto& [key, value] : json.items()) {
        if (!value.is_null() && !(value.is_array() && value.empty()))
            kept[key] = value;
    }
    return kept;
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
        for (const DetailedEvent& event : events)
            context.printJson(eventJson(event));
        return;
    }
    const Time now = currentTime();
    std::vector<std::vector<std::string>> rows;
    for (const DetailedEvent& event : events)
        rows.push_back(
            {arguments.listing.format == "csv" ? timestamp(event.time) : timeText(event.time, now),
             event.kind, event.environment.value_or(""), userText(event), detailsText(event)});
    Table table = tableFor(rows);
    for (auto& row : rows)
        table.add(std::move(row));
    arguments.listing.print(context, std::move(table));
}

} // namespace

void addHistory(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("history", "Show past events");
    const auto arguments = std::make_shared<HistoryArguments>();
    arguments->history.addTo(*command, "a day ago");
    arguments->listing.addFormatTo(*command);
    command
        ->add_option("--environment", arguments->environment, "Show only events of environment ID")
        ->type_name("ID");
    command
        ->add_option("--job", arguments->job, "Show only events of this job, of genv or of Slurm")
        ->type_name("JOB");
    command
        ->add_option("--device", arguments->device,
                     "Show only events of this device, by index or UUID")
        ->type_name("DEVICE");
    command
        ->add_option("--kind", arguments->kinds, "Show only events of this kind; may be repeated")
        ->type_name("KIND")
        ->delimiter(',');
    command->add_option("-n,--lines", arguments->lines, "Show only the last N events")
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
