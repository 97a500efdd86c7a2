// SPDX-License-Identifier: LGPL-2.1-or-later
// devices: shows the holders of each device to every user, and lets owners and administrators
// change them.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/doctor/driver.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/reports/compute_processes.hpp"
#include "client/genvctl/reports/device_listing.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/bytes.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// Returns the same from a snapshot of the machine.
std::vector<HeldDevice> heldDevices(const Machine& machine) {
    std::map<std::string, const Environment*> environments;
    for (const Environment& environment : machine.environments)
        environments.emplace(environment.id, &environment);
    std::vector<HeldDevice> held;
    for (const DeviceState& state : machine.devices) {
        held.push_back({state.device, {}});
        for (Attachment attachment : state.attachments) {
            const auto holder = environments.find(attachment.environment);
            if (holder == environments.end() || holder->second->parent)
                continue;
            attachment.environmentName = holder->second->configuration.name;
            held.back().attachments.push_back(std::move(attachment));
        }
    }
    return held;
}

Holders holdersOf(Client& client, const std::vector<Environment>& environments) {
    Holders holders;
    holders.loans = loanStates(client, environments);
    for (const Environment& environment : environments) {
        const std::optional<std::string>& name = environment.configuration.name;
        if (environment.parking.state == "parked") {
            for (const ParkedDevice& device : environment.parking.devices)
                holders.parked[device.device].push_back({environment.id, name, {}});
        }
        if (environment.parent)
            holders.children[*environment.parent].push_back(
                {environment.id, name, environment.devices});
        if (environment.lingering)
            holders.lingering[environment.id] = environment.processes;
    }
    return holders;
}

// Explains an empty table.
void explainEmptyTable(const std::optional<std::string>& host) {
    if (host) {
        printNote(fmt::format("{} has no GPUs that its genvd knows of", *host));
        return;
    }
    doctor::DriverFacts facts = doctor::readDriverFacts(SystemPlaces::own());
    facts.devices = 0;
    const doctor::DoctorFinding why = doctor::judgeDriver(facts);
    printNote(fmt::format("there are no GPUs: {}", why.found));
}

// Requests the processes first, so that the readings are equally recent.
DeviceList readDevices(Client& client, const ListingOptions& options) {
    const bool showsDetails = options.showsExtras();
    const auto processes = showsDetails ? processesOrNote(client) : std::nullopt;
    const Machine machine = client.machine();
    DeviceList devices;
    devices.held = heldDevices(machine);
    if (options.format != "csv")
        devices.holders = holdersOf(client, machine.environments);
    if (showsDetails)
        devices.details = deviceDetails(machine, processes);
    return devices;
}

void printDevices(Context& context, const ListingOptions& options) {
    Client& client = context.client();
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, MachineObjects(readAnswers(client)).devices());
        return;
    }
    DeviceList devices;
    // In the table for programs, the time column contains nothing but the time.
    if (options.format == "csv" && !options.showsExtras())
        devices.held = heldDevices(client);
    else
        devices = readDevices(client, options);
    if (devices.held.empty())
        explainEmptyTable(context.options.host);
    options.print(context.options, deviceTable(devices, options));
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

void printIndices(const GlobalOptions& global, const std::vector<std::uint32_t>& devices) {
    if (printJson(global, devices))
        return;
    if (!devices.empty())
        print(joined(devices, ",") + '\n');
}

// Programs of genv 1 pass ids of environments that may not exist, and treat a failure as a defect.
void findDevices(Context& context, const std::string& id) {
    const auto found = foundOrNothing([&] { return context.client().environment(id); });
    printIndices(context.options, found ? found->devices : std::vector<std::uint32_t>{});
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

constexpr std::array devicesFindExamples{
    Example{"Print the GPUs of environment 4711", "genvctl devices find --id 4711"},
};

void addFindDevices(CLI::App& devices, Context& context) {
    CLI::App* command = addCommand(
        devices, "find", "Print the devices of an environment",
        {.onCluster = cluster::refused(isAboutOneMachine,
                                       "\"genvctl devices --json\" has the GPUs of the cluster."),
         .examples = devicesFindExamples});
    const auto id = std::make_shared<std::string>();
    addOption(*command, "--id,--eid", *id, "Select environment ID",
              {.values = ValueKind::Environment})
        ->required()
        ->type_name("ID");
    command->callback(
        [&context, id] { context.command = [&context, id] { findDevices(context, *id); }; });
}

constexpr std::array devicesQueryExamples{
    Example{"Print each GPU's index and environments", "genvctl devices query --query index eids"},
};

void addQueryDevices(CLI::App& devices, Context& context) {
    CLI::App* command = addCommand(
        devices, "query", "Print chosen columns, one line per device",
        {.onCluster = cluster::refused(isAboutOneMachine,
                                       "\"genvctl devices --json\" has the GPUs of the cluster."),
         .examples = devicesQueryExamples});
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

constexpr std::array devicesAttachExamples{
    Example{"Attach one more GPU to environment 4711", "genvctl devices attach --id 4711 --gpus 1"},
    Example{"Attach GPU 3 to it", "genvctl devices attach --id 4711 --index 3"},
};

void addAdministrativeAttach(CLI::App& devices, Context& context) {
    CLI::App* command =
        addCommand(devices, "attach", "Attach devices to an environment",
                   {.onCluster = cluster::refused(
                        slurmDecides, "\"genvctl run --gpus N -- COMMAND\" asks for GPUs."),
                    .examples = devicesAttachExamples});
    const auto arguments = std::make_shared<AdministrativeAttachArguments>();
    addOption(*command, "--id,--eid", arguments->id, "Select environment ID",
              {.values = ValueKind::Environment})
        ->required()
        ->type_name("ID");
    CLI::Option* count = addOption(*command, "--gpus,--count", arguments->count, "Attach N devices",
                                   {.values = ValueKind::DeviceCount})
                             ->type_name("N");
    CLI::Option* index =
        addOption(*command, "--index", arguments->indices, "Attach the devices with these indices",
                  {.values = ValueKind::Device})
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
                printIndices(context.options, attached);
            context.warnOfNotices(arguments->id);
        };
    });
}

constexpr std::array devicesDetachExamples{
    Example{"Detach GPU 3 from environment 4711", "genvctl devices detach --id 4711 --index 3"},
};

void addAdministrativeDetach(CLI::App& devices, Context& context) {
    CLI::App* command =
        addCommand(devices, "detach", "Detach devices from an environment",
                   {.onCluster = cluster::refused(
                        slurmDecides, "\"genvctl deactivate --id slurm-JOBID\" ends a job."),
                    .examples = devicesDetachExamples});
    const auto id = std::make_shared<std::string>();
    const auto indices = std::make_shared<std::vector<std::uint32_t>>();
    const auto quiet = std::make_shared<bool>(false);
    addOption(*command, "--id,--eid", *id, "Select environment ID",
              {.values = ValueKind::Environment})
        ->required()
        ->type_name("ID");
    addOption(*command, "--index", *indices, "Detach only the devices with these indices",
              {.values = ValueKind::Device})
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
                    printIndices(context.options, remaining);
            } catch (const Error& error) {
                if (!*quiet || error.name() != dbus::contract::error::notAttached)
                    throw;
            }
        };
    });
}

} // namespace

constexpr std::array devicesExamples{
    Example{"List all GPUs and their environments", "genvctl devices"},
    Example{"Print the indices of the free GPUs",
            "genvctl devices --json | jq '.[] | select(.free) | .index'"},
};

constexpr std::array devicesPsExamples{
    Example{"List all GPUs and their environments as CSV", "genvctl devices ps --format csv"},
};

void addDevices(CLI::App& app, Context& context) {
    CLI::App* devices =
        addCommand(app, "devices", "List devices and the environments that use them",
                   {.onCluster = cluster::mapped, .examples = devicesExamples});
    const auto options = std::make_shared<ListingOptions>();
    const auto reset = std::make_shared<bool>(false);
    options->addTo(*devices);
    options->addWideTo(*devices);
    Definition::of(*devices).describe(
        devices->add_flag_callback(
            "--no-cleanup", [] {}, "Ignore, for compatibility with genv 1"),
        {.onCluster = cluster::withoutEffect});
    addFlag(*devices, "--reset", *reset, "Detach all devices from all environments",
            {.onCluster = endsJobsOfAll});
    devices->require_subcommand(0, 1);

    CLI::App* table = addCommand(*devices, "ps", "List devices and the environments that use them",
                                 {.onCluster = cluster::mapped, .examples = devicesPsExamples});
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
