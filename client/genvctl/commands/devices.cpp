// SPDX-License-Identifier: LGPL-2.1-or-later
// devices: shows the holders of each device to every user, and lets owners and administrators
// change them.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/doctor/driver.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/compute_processes.hpp"
#include "client/genvctl/reports/device_table.hpp"
#include "client/genvctl/reports/user_names.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "core/bytes.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace genv::ctl {

namespace {

std::vector<HeldDevice> heldDevices(Client& client) {
    std::vector<HeldDevice> held;
    for (Device& device : client.devices())
        held.push_back({std::move(device), {}});
    for (Attachment& attachment : holdersAttachments(client)) {
        const auto found = std::find_if(held.begin(), held.end(), [&](const HeldDevice& h) {
            return h.device.index == attachment.device;
        });
        if (found != held.end())
            found->attachments.push_back(std::move(attachment));
    }
    return held;
}

// Makes no request if no device is held.
Holders holdersOf(Client& client, const std::vector<HeldDevice>& held) {
    Holders holders;
    if (std::all_of(held.begin(), held.end(),
                    [](const HeldDevice& device) { return device.attachments.empty(); }))
        return holders;
    const auto parents = client.parents();
    for (Environment& environment : client.environmentDetails()) {
        if (const auto parent = parents.find(environment.id); parent != parents.end())
            holders.children[parent->second].push_back(
                {environment.id, environment.configuration.name, environment.devices});
        if (environment.lingering)
            holders.lingering[environment.id] = std::move(environment.processes);
    }
    return holders;
}

// Explains an empty table.
void explainEmptyTable(const Context& context) {
    if (context.options.host) {
        printNote(fmt::format("{} has no GPUs that its genvd knows of", *context.options.host));
        return;
    }
    doctor::DriverFacts facts = doctor::readDriverFacts(Places::own());
    facts.devices = 0;
    const doctor::Finding why = doctor::judgeDriver(facts);
    printNote(fmt::format("there are no GPUs: {}", why.found));
}

// Reads the extra columns. Requests the processes first, so that the readings are equally recent.
DeviceDetails readDetails(Context& context) {
    const auto processes = processesOrNote(context.client());
    DeviceDetails details =
        deviceDetails(context.client().overview(), processes, userNames(context));
    details.conditions = context.client().deviceConditions();
    return details;
}

void printDevices(Context& context, const ListingOptions& options) {
    DeviceList devices;
    devices.held = heldDevices(context.client());
    // In the table for programs, the time column contains nothing but the time.
    if (options.format != "csv" || context.options.json != JsonMode::Off)
        devices.holders = holdersOf(context.client(), devices.held);
    if ((options.showsExtras() && !devices.held.empty()) || context.options.json != JsonMode::Off)
        devices.details = readDetails(context);
    if (context.options.json != JsonMode::Off) {
        context.printJson(devicesJson(devices, context.client().reservations()));
        return;
    }
    if (devices.held.empty())
        explainEmptyTable(context);
    options.print(context, deviceTable(devices, options));
}

// Returns eid+memory+time without spaces, so that several can be listed on a line.
std::string attachmentCell(const Attachment& attachment) {
    std::string time = timestamp(attachment.since);
    std::replace(time.begin(), time.end(), ' ', '_');
    return fmt::format("{}+{}+{}", attachment.environment,
                       attachment.shareBytes ? amount(*attachment.shareBytes) : "", time);
}

std::string deviceCell(const HeldDevice& held, const std::string& name) {
    if (name == "index")
        return std::to_string(held.device.index);
    if (name == "total_memory")
        return held.device.totalMemoryBytes == 0
                   ? "unknown"
                   : core::formatMebibytes({held.device.totalMemoryBytes});
    std::vector<std::string> words;
    for (const Attachment& attachment : held.attachments)
        words.push_back(name == "eids" ? attachment.environment : attachmentCell(attachment));
    return joined(words, " ");
}

void printIndices(Context& context, const std::vector<std::uint32_t>& devices) {
    if (context.printJson(devices))
        return;
    if (!devices.empty())
        print(joined(devices, ",") + '\n');
}

// Programs of genv 1 pass ids of environments that may not exist, and treat a failure as a defect.
void findDevices(Context& context, const std::string& id) {
    const auto found = foundOrNothing([&] { return context.client().environment(id); });
    printIndices(context, found ? found->devices : std::vector<std::uint32_t>{});
}

void detachEverybody(Context& context) {
    std::map<std::string, std::string> users;
    for (const EnvironmentEntry& entry : context.client().environments())
        users[entry.id] = entry.user;
    for (const auto& [device, attachments] : heldDevices(context.client())) {
        if (attachments.empty())
            continue;
        const std::uint32_t index = device.index; // clang 14 cannot capture a structured binding
        context.authorized([&](Client& client) { client.detachDevice(index, ""); });
        for (const Attachment& attachment : attachments)
            print(fmt::format("GPU {} was taken from environment {} of {}\n", index,
                              shown(attachment.environment), shown(users[attachment.environment])));
    }
}

void addFindDevices(CLI::App& devices, Context& context) {
    CLI::App* command = devices.add_subcommand("find", "Print the devices of an environment");
    const auto id = std::make_shared<std::string>();
    command->add_option("--id,--eid", *id, "Select environment ID")->required()->type_name("ID");
    command->callback(
        [&context, id] { context.command = [&context, id] { findDevices(context, *id); }; });
}

void addQueryDevices(CLI::App& devices, Context& context) {
    CLI::App* command =
        devices.add_subcommand("query", "Print chosen columns, one line per device");
    const auto query = std::make_shared<QueryOption>();
    query->addTo(*command, {"index", "eids", "total_memory", "attachments"});
    command->callback([&context, query] {
        context.command = [&context, query] {
            query->print(heldDevices(context.client()), deviceCell);
        };
    });
}

struct AdministrativeAttachArguments {
    std::string id;
    std::optional<std::uint32_t> count;
    std::vector<std::uint32_t> indices;
    bool exact = false;
    bool overSubscribe = false;
    bool quiet = false;
};

void addAdministrativeAttach(CLI::App& devices, Context& context) {
    CLI::App* command = devices.add_subcommand("attach", "Attach devices to an environment");
    const auto arguments = std::make_shared<AdministrativeAttachArguments>();
    command->add_option("--id,--eid", arguments->id, "Select environment ID")
        ->required()
        ->type_name("ID");
    CLI::Option* count =
        command->add_option("--gpus,--count", arguments->count, "Attach N devices")->type_name("N");
    CLI::Option* index =
        command->add_option("--index", arguments->indices, "Attach the devices with these indices")
            ->type_name("I[,I]...")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->excludes(count);
    command->add_flag("--exact", arguments->exact, "Detach the newest devices if more are attached")
        ->excludes(index);
    command->add_flag("--quiet", arguments->quiet, "Do not print the attached indices");
    command->add_flag("-o,--over-subscribe,--allow-over-subscription", arguments->overSubscribe,
                      "Share devices that are already attached elsewhere");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] {
            const AttachOptions request = AttachOptions()
                                              .setCount(arguments->count)
                                              .setIndices(arguments->indices)
                                              .setExact(arguments->exact)
                                              .setOverSubscribe(arguments->overSubscribe);
            const std::uint32_t owner = context.client().environment(arguments->id).uid;
            context.client().listenForNotices(owner);
            const auto attached = context.authorized(
                [&](Client& client) { return client.attach(arguments->id, request); });
            if (!arguments->quiet)
                printIndices(context, attached);
            context.warnOfNotices(arguments->id);
        };
    });
}

void addAdministrativeDetach(CLI::App& devices, Context& context) {
    CLI::App* command = devices.add_subcommand("detach", "Detach devices from an environment");
    const auto id = std::make_shared<std::string>();
    const auto indices = std::make_shared<std::vector<std::uint32_t>>();
    const auto quiet = std::make_shared<bool>(false);
    command->add_option("--id,--eid", *id, "Select environment ID")->required()->type_name("ID");
    command->add_option("--index", *indices, "Detach only the devices with these indices")
        ->type_name("I[,I]...")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_flag("--quiet", *quiet, "Print nothing, and succeed if none is attached");
    command->callback([&context, id, indices, quiet] {
        context.command = [&context, id, indices, quiet] {
            try {
                const auto remaining = context.authorized(
                    [&](Client& client) { return client.detach(*id, *indices); });
                if (!*quiet)
                    printIndices(context, remaining);
            } catch (const Error& error) {
                if (!*quiet || error.name() != dbus::contract::error::notAttached)
                    throw;
            }
        };
    });
}

} // namespace

void addDevices(CLI::App& app, Context& context) {
    CLI::App* devices =
        app.add_subcommand("devices", "List devices and the environments that use them");
    const auto options = std::make_shared<ListingOptions>();
    const auto reset = std::make_shared<bool>(false);
    options->addTo(*devices);
    options->addWideTo(*devices);
    devices->add_flag_callback(
        "--no-cleanup", [] {}, "Ignore, for compatibility with genv 1");
    devices->add_flag("--reset", *reset, "Detach all devices from all environments");
    devices->require_subcommand(0, 1);

    CLI::App* table =
        devices->add_subcommand("ps", "List devices and the environments that use them");
    options->addTo(*table);
    options->addWideTo(*table);
    addQueryDevices(*devices, context);
    addFindDevices(*devices, context);
    addAdministrativeAttach(*devices, context);
    addAdministrativeDetach(*devices, context);

    // The callbacks of subcommands run after this one and take precedence; ps has no callback.
    devices->parse_complete_callback([&context, options, reset] {
        context.command = [&context, options, reset] {
            if (*reset)
                detachEverybody(context);
            else
                printDevices(context, *options);
        };
    });
}

} // namespace genv::ctl
