// SPDX-License-Identifier: LGPL-2.1-or-later
// report: the use of each device by each user in a period, from the history.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/history_options.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/fair_report.hpp"
#include "client/genvctl/reports/usage_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace genv::ctl {

namespace {

struct ReportArguments {
    HistoryOptions history;
    ListingOptions listing;
    std::string by = "both";
    bool isFair = false;
};

// No later event reports an attachment that ended in a crash. The time before the period is
// therefore always searched as well.
constexpr std::chrono::hours lookBack{24};

// Omits the attachments of nested environments, which are part of those of their parents.
std::vector<HistoryEvent> eventsOf(Context& context, const HistoryQuery& query) {
    std::vector<HistoryEvent> events;
    context.authorized([&](Client& client) {
        events.clear();
        client.history(query, [&](const HistoryEvent& event) {
            const bool isHold = event.kind != "refused" && !event.kind.starts_with("wait-");
            if (!event.parent || !isHold)
                events.push_back(event);
        });
    });
    return events;
}

std::vector<HeldNow> heldNow(Client& client, const std::vector<Device>& devices,
                             const std::optional<std::uint32_t>& uid) {
    // Attachments that began in between are in the history as well.
    const auto attachments = holdersAttachments(client);
    std::map<std::string, EnvironmentEntry> environments;
    for (EnvironmentEntry& entry : client.environments()) {
        const std::string id = entry.id;
        environments.emplace(id, std::move(entry));
    }
    std::vector<HeldNow> held;
    for (const Attachment& attachment : attachments) {
        const auto owner = environments.find(attachment.environment);
        const auto device = std::find_if(devices.begin(), devices.end(), [&](const Device& d) {
            return d.index == attachment.device;
        });
        if (owner == environments.end() || device == devices.end())
            continue;
        if (!uid || owner->second.uid == *uid)
            held.push_back({attachment.environment, owner->second.uid, owner->second.user,
                            device->uuid, attachment.since});
    }
    return held;
}

std::vector<std::string> parkedNow(Client& client) {
    std::vector<std::string> parked;
    for (const Environment& environment : client.machine().environments) {
        if (environment.parking.state == "parked")
            parked.push_back(environment.id);
    }
    return parked;
}

UsageInput gather(Context& context, const HistoryOptions& options) {
    const Time now = currentTime();
    HistoryQuery query = options.query(context, now - std::chrono::hours{24 * 7});
    UsageInput input;
    input.now = now;
    input.period = {query.since(), std::min(query.until().value_or(now), now)};
    if (!query.everybody())
        input.uid = query.uid().value_or(context.uid());
    input.devices = context.client().devices();
    input.held = heldNow(context.client(), input.devices, input.uid);
    input.parked = parkedNow(context.client());
    query.setKinds(kindsOfUsage());
    query.setUntil(std::nullopt); // attachments that ended later may have begun earlier
    query.setSince(std::max(input.period.since - lookBack, Time{}));
    input.events = eventsOf(context, query);
    const auto earliest = earliestBeginning(input);
    if (earliest && *earliest < query.since()) {
        query.setUntil(query.since() - std::chrono::microseconds{1}).setSince(*earliest);
        std::vector<HistoryEvent> before = eventsOf(context, query);
        before.insert(before.end(), std::make_move_iterator(input.events.begin()),
                      std::make_move_iterator(input.events.end()));
        input.events = std::move(before);
    }
    return input;
}

// A row of either table: its subject for people, its exact name, and its usage.
struct UsageRow {
    std::string name;
    std::string id;
    const Usage* usage = nullptr;
};

std::vector<UsageRow> userRows(const UsageReport& report) {
    std::vector<UsageRow> rows;
    for (const UserUsage& user : report.users)
        rows.push_back({user.user, std::to_string(user.uid), &user.usage});
    return rows;
}

std::vector<UsageRow> jobRows(const UsageReport& report) {
    std::vector<UsageRow> rows;
    for (const JobUsage& job : report.jobs)
        rows.push_back({job.job, job.user, &job.usage});
    return rows;
}

std::vector<UsageRow> deviceRows(const UsageReport& report) {
    std::vector<UsageRow> rows;
    for (const DeviceUsage& device : report.devices)
        rows.push_back({device.index ? std::to_string(*device.index) : device.uuid, device.uuid,
                        &device.usage});
    return rows;
}

// Hundredths of an hour. Idle time is the remainder, so that the printed numbers add up.
struct Hours {
    explicit Hours(const Usage& usage)
        : held(round(usage.held)), used(std::min(round(usage.used), held)),
          unknown(std::min(round(usage.unknown), held - used)) {}

    static std::int64_t round(std::chrono::microseconds span) {
        constexpr std::int64_t hundredth = 36'000'000;
        return (span.count() + hundredth / 2) / hundredth;
    }
    static std::string text(std::int64_t hundredths) {
        return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
    }

    std::int64_t held;
    std::int64_t used;
    std::int64_t unknown;
};

// For programs: seconds with milliseconds.
std::string secondsText(std::chrono::milliseconds span) {
    return fmt::format("{}.{:03}", span.count() / 1000, span.count() % 1000);
}

std::vector<std::string> exactCellsOf(const Usage& usage) {
    const auto exact = [](std::chrono::microseconds span) {
        return std::chrono::floor<std::chrono::milliseconds>(span + std::chrono::microseconds{500});
    };
    // Idle time is the remainder, so that the printed numbers add up.
    const auto held = exact(usage.held);
    const auto used = std::min(exact(usage.used), held);
    const auto unknown = std::min(exact(usage.unknown), held - used);
    const bool waited = usage.waits.count > 0;
    return {secondsText(held),
            secondsText(used),
            secondsText(held - used - unknown),
            secondsText(unknown),
            std::to_string(usage.attachments),
            std::to_string(usage.waits.count),
            waited ? secondsText(exact(usage.waits.mean())) : "",
            waited ? secondsText(exact(usage.waits.max)) : "",
            std::to_string(usage.refusals),
            secondsText(exact(usage.parked)),
            secondsText(exact(usage.taken))};
}

std::vector<std::string> cellsOf(const Usage& usage) {
    const Hours hours(usage);
    const bool waited = usage.waits.count > 0;
    return {Hours::text(hours.held),
            Hours::text(hours.used),
            Hours::text(hours.held - hours.used - hours.unknown),
            Hours::text(hours.unknown),
            std::to_string(usage.attachments),
            std::to_string(usage.waits.count),
            waited ? spanText(usage.waits.mean()) : "",
            waited ? spanText(usage.waits.max) : "",
            std::to_string(usage.refusals),
            Hours::text(Hours::round(usage.parked)),
            Hours::text(Hours::round(usage.taken))};
}

const std::vector<std::string>& usageTitles() {
    static const std::vector<std::string> titles{"HELD",     "USED",   "IDLE", "UNKNOWN",
                                                 "ATTACHED", "WAITS",  "MEAN", "LONGEST",
                                                 "REFUSED",  "PARKED", "TAKEN"};
    return titles;
}

// Draws the used time in dark and the rest of the held time in light, in proportion to the longest
// row.
std::string bar(const Usage& usage, std::chrono::microseconds max, std::size_t width) {
    const auto parts = [&](std::chrono::microseconds span) {
        return static_cast<std::size_t>(
            (span.count() * static_cast<std::int64_t>(width) + max.count() / 2) /
            std::max<std::int64_t>(max.count(), 1));
    };
    const std::size_t held = parts(usage.held);
    const std::size_t used = std::min(parts(usage.used), held);
    std::string text;
    for (std::size_t i = 0; i < held; ++i)
        text += i < used ? "\u2588" : "\u2591";
    return text;
}

void printTable(Context& context, const ListingOptions& options, const std::string& title,
                const std::vector<UsageRow>& rows) {
    std::vector<std::vector<std::string>> lines;
    for (const UsageRow& row : rows) {
        lines.push_back({row.name});
        for (std::string& cell : cellsOf(*row.usage))
            lines.back().push_back(std::move(cell));
    }
    std::vector<std::string> titles{title};
    titles.insert(titles.end(), usageTitles().begin(), usageTitles().end());
    // Few machines have parked environments, and fewer those that were parked for others.
    for (const auto part : {&Usage::taken, &Usage::parked}) {
        if (std::ranges::any_of(
                rows, [&](const UsageRow& row) { return ((*row.usage).*part).count() > 0; }))
            break;
        titles.pop_back();
        for (auto& line : lines)
            line.pop_back();
    }
    std::vector<Table::Column> columns;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < titles.size(); ++i) {
        std::size_t width = titles[i].size();
        for (const auto& line : lines)
            width = std::max(width, cells(shown(line[i])));
        constexpr std::size_t kept = 4; // the name, and the hours held, used and idle
        columns.push_back(
            {titles[i], std::min<std::size_t>(width, 16) + 1, i < kept ? 0 : static_cast<int>(i)});
        taken += columns.back().width;
    }
    constexpr std::size_t shortestBar = 8;
    constexpr std::size_t maxBarWidth = 40;
    const std::size_t width = terminalWidth().value_or(0);
    const bool hasBar = width >= taken + shortestBar;
    std::chrono::microseconds max{0};
    for (const UsageRow& row : rows)
        max = std::max(max, row.usage->held);
    if (hasBar)
        columns.push_back({"", 0});
    else
        columns.back().width = 0;
    Table table(std::move(columns));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (hasBar)
            lines[i].push_back(bar(*rows[i].usage, max, std::min(width - taken, maxBarWidth)));
        table.add(std::move(lines[i]));
    }
    options.print(context.options, std::move(table));
}

Table csvTable(const std::vector<UsageRow>& users, const std::vector<UsageRow>& jobs,
               const std::vector<UsageRow>& devices) {
    Table table({{"BY"},
                 {"NAME"},
                 {"ID"},
                 {"HELD_SECONDS"},
                 {"USED_SECONDS"},
                 {"IDLE_SECONDS"},
                 {"UNKNOWN_SECONDS"},
                 {"ATTACHED"},
                 {"WAITS"},
                 {"MEAN_WAIT_SECONDS"},
                 {"LONGEST_WAIT_SECONDS"},
                 {"REFUSED"},
                 {"PARKED_SECONDS"},
                 {"TAKEN_SECONDS"}});
    const auto add = [&](const char* by, const std::vector<UsageRow>& rows) {
        for (const UsageRow& row : rows) {
            std::vector<std::string> line{by, row.name, row.id};
            for (std::string& cell : exactCellsOf(*row.usage))
                line.push_back(std::move(cell));
            table.add(std::move(line));
        }
    };
    add("user", users);
    add("job", jobs);
    add("device", devices);
    return table;
}

void addJson(Json& json, const Usage& usage) {
    json["held"] = usage.held.count();
    json["used"] = usage.used.count();
    json["idle"] = usage.idle().count();
    json["unknown"] = usage.unknown.count();
    json["parked"] = usage.parked.count();
    json["taken"] = usage.taken.count();
    json["attachments"] = usage.attachments;
    json["waits"] = {{"count", usage.waits.count},
                     {"mean", usage.waits.mean().count()},
                     {"longest", usage.waits.max.count()}};
    json["refusals"] = usage.refusals;
}

Json reportJson(const Period& period, const UsageReport& report, const std::string& by) {
    Json json = {{"since", toJson(period.since)}, {"until", toJson(period.until)}};
    if (by == "user" || by == "both") {
        Json& users = json["users"] = Json::array();
        for (const UserUsage& user : report.users) {
            users.push_back({{"uid", user.uid}, {"user", user.user}});
            addJson(users.back(), user.usage);
        }
    }
    if (by == "job") {
        Json& jobs = json["jobs"] = Json::array();
        for (const JobUsage& job : report.jobs) {
            jobs.push_back({{"job", job.job}, {"user", job.user}});
            addJson(jobs.back(), job.usage);
        }
    }
    if (by == "device" || by == "both") {
        Json& devices = json["devices"] = Json::array();
        for (const DeviceUsage& device : report.devices) {
            devices.push_back(
                {{"index", orNull(device.index)}, {"uuid", device.uuid}, {"model", device.model}});
            addJson(devices.back(), device.usage);
        }
    }
    return json;
}

void report(Context& context, const ReportArguments& arguments) {
    if (arguments.isFair) {
        printFairReport(context, arguments.listing);
        return;
    }
    const UsageInput input = gather(context, arguments.history);
    const UsageReport report = usageReport(input);
    if (printJson(context.options, reportJson(input.period, report, arguments.by)))
        return;
    const bool isBoth = arguments.by == "both";
    const bool isByUser = isBoth || arguments.by == "user";
    const bool isByJob = arguments.by == "job";
    const bool isByDevice = isBoth || arguments.by == "device";
    const auto users = isByUser ? userRows(report) : std::vector<UsageRow>{};
    const auto jobs = isByJob ? jobRows(report) : std::vector<UsageRow>{};
    const auto devices = isByDevice ? deviceRows(report) : std::vector<UsageRow>{};
    if (arguments.listing.format == "csv") {
        arguments.listing.print(context.options, csvTable(users, jobs, devices));
        return;
    }
    if (isByUser)
        printTable(context, arguments.listing, "USER", users);
    if (isByJob)
        printTable(context, arguments.listing, "JOB", jobs);
    if (isBoth)
        print("\n");
    if (isByDevice)
        printTable(context, arguments.listing, "GPU", devices);
}

} // namespace

constexpr std::array reportExamples{
    Example{"Summarize your usage of the last week", "genvctl report"},
    Example{"Summarize November for all users as CSV",
            "genvctl report --all --since 2026-11-01 --until 2026-12-01 --format csv"},
};

void addReport(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(
        app, "report", "Summarize the GPU hours of users and devices",
        {.onCluster = cluster::aboutThisMachine("\"sreport\" sums up the use of each user."),
         .examples = reportExamples});
    const auto arguments = std::make_shared<ReportArguments>();
    arguments->history.addTo(*command, "a week ago");
    arguments->listing.addFormatTo(*command);
    addOption(*command, "--by", arguments->by, "Print a row per user, device, job or both",
              {.values = OneOf{"user", "device", "job", "both"}})
        ->check(CLI::IsMember({"user", "device", "job", "both"}).description(""))
        ->type_name("WHAT");
    CLI::Option* fair = command->add_flag("--fair", arguments->isFair,
                                          "Print what each user has used, and the weights");
    for (const char* other : {"--by", "--since", "--until", "--all", "--user"})
        fair->excludes(other);
    command->footer(
        "HELD, USED, IDLE, UNKNOWN, PARKED and TAKEN are hours, in CSV seconds, in JSON\n"
        "microseconds. A device that several environments share counts once in its own\n"
        "row. WHEN is as for \"genvctl history\".");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { report(context, *arguments); };
    });
}

} // namespace genv::ctl
