// SPDX-License-Identifier: LGPL-2.1-or-later
// devices, envs and query: the devices of many machines and their holders, for every version of
// genv. The tables have one row for each host or environment; --json has all data.
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/remote/remote_commands.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/remote/fleet/host_state.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

namespace genv::ctl {

namespace {

using remote::Gathered;
using remote::HostState;

using States = std::vector<Gathered<HostState>>;

struct RemoteListing {
    ListingOptions table;
    bool noSummary = false;

    void addSummaryTo(CLI::App& command) {
        command.add_flag("--no-summary", noSummary, "Do not print the last line with the totals");
    }

    /// CSV is for programs, so every line is a row of the table.
    void print(const GlobalOptions& global, const Table& rows, const std::string& summary) const {
        table.print(global, rows);
        if (table.format != "csv" && !noSummary && !global.noLegend)
            ctl::print(summary + '\n');
    }
};

std::string_view nameOf(remote::Trouble trouble) {
    switch (trouble) {
    case remote::Trouble::Unreachable:
        return "unreachable";
    case remote::Trouble::TimedOut:
        return "timed-out";
    case remote::Trouble::Cancelled:
        return "cancelled";
    case remote::Trouble::NoService:
        return "no-service";
    case remote::Trouble::NotAuthorized:
        return "not-authorised";
    case remote::Trouble::Failed:
        break;
    }
    return "failed";
}

Json failuresJson(const States& all) {
    Json failures = Json::array();
    for (const auto& one : all) {
        if (one.failure)
            failures.push_back({{"host", one.host.label()},
                                {"kind", nameOf(one.failure->trouble())},
                                {"message", one.failure->what()}});
    }
    return failures;
}

/// Queries every host and returns the states to list. If JSON is requested, prints it and returns
/// nothing. `key` and `list` define the content for each host.
States listed(Context& context, const HostOptions& options, const char* key,
              const std::function<Json(const MachineObjects&)>& list) {
    const States all =
        askEachHost<HostState>(options, options.list(context.options.host), remote::readHostState);
    if (context.options.json == JsonMode::Off)
        return onlyAnswers(all);
    Json hosts = Json::array();
    for (const auto& one : all) {
        if (!one.value)
            continue;
        const MachineAnswers answers{one.value->machine, {}, std::nullopt};
        Json objects = list(MachineObjects(answers));
        for (Json& object : objects)
            object.at("host") = one.host.label();
        hosts.push_back({{"host", one.host.label()},
                         {"genv", one.value->genv == remote::Genv::Old ? "old" : "service"},
                         {key, std::move(objects)}});
    }
    printJson(context.options, {{"hosts", std::move(hosts)}, {"failed", failuresJson(all)}});
    onlyAnswers(all); // sets the exit status if no host answered
    return {};
}

// Returns the users who hold devices, without duplicates.
std::string holdersText(const HostState& state) {
    std::set<std::string> holders;
    for (const Attachment& attachment : state.attachments) {
        for (const EnvironmentEntry& entry : state.environments) {
            if (entry.id == attachment.environment)
                holders.insert(entry.user);
        }
    }
    return joined(std::vector<std::string>(holders.begin(), holders.end()), ", ");
}

// Returns "4 NVIDIA A100, 2 NVIDIA T4". genv 1 does not report models.
std::string modelsText(const HostState& state) {
    std::map<std::string, std::size_t> counts;
    for (const Device& device : state.devices) {
        if (!device.model.empty())
            ++counts[device.model];
    }
    std::vector<std::string> models;
    for (const auto& [model, count] : counts)
        models.push_back(fmt::format("{} {}", count, model));
    return joined(models, ", ");
}

std::string devicesText(const HostState& state, const std::string& environment) {
    std::vector<std::uint32_t> devices;
    for (const Attachment& attachment : state.attachments) {
        if (attachment.environment == environment)
            devices.push_back(attachment.device);
    }
    return joined(devices, ",");
}

void listDevices(Context& context, const HostOptions& options, const RemoteListing& listing) {
    const States states =
        listed(context, options, "devices", std::mem_fn(&MachineObjects::devices));
    Table table({{"HOST", 25},
                 {"TOTAL", 9},
                 {"AVAILABLE", 11},
                 {"USERS", 20, 1, true},
                 {"MODELS", 0, 2, true}});
    std::size_t total = 0;
    std::size_t available = 0;
    for (const auto& [host, state, failure] : states) {
        const auto free = static_cast<std::size_t>(std::count_if(
            state->devices.begin(), state->devices.end(),
            [&there = *state](const Device& device) { return there.isFree(device); }));
        table.add({host.label(), std::to_string(state->devices.size()), std::to_string(free),
                   holdersText(*state), modelsText(*state)});
        total += state->devices.size();
        available += free;
    }
    if (!states.empty())
        listing.print(context.options, table,
                      fmt::format("Total {} devices with {} available on {} hosts", total,
                                  available, states.size()));
}

void listEnvironments(Context& context, const HostOptions& options, const RemoteListing& listing) {
    const States states =
        listed(context, options, "environments", std::mem_fn(&MachineObjects::environments));
    Table table({{"HOST", 25},
                 {"ID", 8},
                 {"USER", 16},
                 {"NAME", 16, 1},
                 {"CREATED", 21, 2},
                 {"DEVICES", 0, 3, true}});
    std::size_t total = 0;
    for (const auto& [host, state, failure] : states) {
        for (const EnvironmentEntry& entry : state->environments)
            table.add({host.label(), entry.id, entry.user, entry.name.value_or(""),
                       listing.table.time(entry.created), devicesText(*state, entry.id)});
        total += state->environments.size();
    }
    if (!states.empty())
        listing.print(context.options, table,
                      fmt::format("Total {} environments on {} hosts", total, states.size()));
}

/// An environment and its host.
struct FarEnvironment {
    std::string host;
    EnvironmentEntry entry;
};

std::string farCell(const FarEnvironment& environment, const std::string& name) {
    if (name == "hostname")
        return environment.host;
    return name == "eid" ? environment.entry.id : timestamp(environment.entry.created);
}

std::vector<EnvironmentEntry> ofName(const HostState& state, const std::string& name) {
    std::vector<EnvironmentEntry> entries;
    std::copy_if(state.environments.begin(), state.environments.end(), std::back_inserter(entries),
                 [&](const EnvironmentEntry& entry) { return entry.name == name; });
    return entries;
}

void query(Context& context, const HostOptions& options, const std::string& name,
           const QueryOption& what) {
    const States states =
        listed(context, options, "environments", [&](const MachineObjects& objects) {
            Json named = Json::array();
            for (Json& each : objects.environments()) {
                if (each.at("name") == name)
                    named.push_back(std::move(each));
            }
            return named;
        });
    std::vector<FarEnvironment> found;
    for (const auto& [host, state, failure] : states) {
        for (EnvironmentEntry& entry : ofName(*state, name))
            found.push_back({host.label(), std::move(entry)});
    }
    what.print(found, farCell);
}

} // namespace

constexpr std::array remoteDevicesExamples{
    Example{"Count the devices of two hosts", "genvctl remote -H gpu1,gpu2 devices"},
};

constexpr std::array remoteEnvsExamples{
    Example{"List the environments on two hosts", "genvctl remote -H gpu1,gpu2 envs"},
};

constexpr std::array remoteQueryExamples{
    Example{"Find the environments named training",
            "genvctl remote -H gpu1,gpu2 query --name training --query hostname eid"},
};

void addRemoteListings(CLI::App& remote, Context& context, const SharedHostOptions& hosts) {
    CLI::App* devices =
        addCommand(remote, "devices", "Count the devices of each host, and the free ones",
                   {.examples = remoteDevicesExamples});
    const auto ofDevices = std::make_shared<RemoteListing>();
    ofDevices->table.addFormatTo(*devices);
    ofDevices->table.addWideTo(*devices);
    ofDevices->addSummaryTo(*devices);
    devices->callback([&context, hosts, ofDevices] {
        context.command = [&context, hosts, ofDevices] {
            listDevices(context, *hosts, *ofDevices);
        };
    });

    CLI::App* envs = addCommand(remote, "envs", "List environments and their users on each host",
                                {.examples = remoteEnvsExamples});
    const auto ofEnvs = std::make_shared<RemoteListing>();
    ofEnvs->table.addTo(*envs);
    ofEnvs->table.addWideTo(*envs);
    ofEnvs->addSummaryTo(*envs);
    envs->callback([&context, hosts, ofEnvs] {
        context.command = [&context, hosts, ofEnvs] { listEnvironments(context, *hosts, *ofEnvs); };
    });

    CLI::App* queried = addCommand(remote, "query", "Print chosen columns of environments by name",
                                   {.examples = remoteQueryExamples});
    const auto name = std::make_shared<std::string>();
    const auto what = std::make_shared<QueryOption>();
    addOption(*queried, "--name", *name, "Select environments named NAME",
              {.values = ValueKind::Free})
        ->required()
        ->type_name("NAME");
    what->addTo(*queried, {"hostname", "eid", "creation"});
    queried->callback([&context, hosts, name, what] {
        context.command = [&context, hosts, name, what] { query(context, *hosts, *name, *what); };
    });
}

} // namespace genv::ctl
