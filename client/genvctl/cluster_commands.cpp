// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster_commands.hpp"

#include "client/genvctl/cluster/cluster_choice.hpp"
#include "client/genvctl/cluster/cluster_jobs.hpp"
#include "client/genvctl/cluster/cluster_listings.hpp"
#include "client/genvctl/cluster/given_options.hpp"
#include "client/genvctl/cluster/jobs/slurm_jobs.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/cluster/slurm_programs.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace genv::ctl::cluster {

namespace {

ListingOptions listingOptions(const GivenCommand& given) {
    ListingOptions options;
    options.noHeader = given.has("--no-header");
    options.timestamp = given.has("--timestamp");
    options.wide = given.has("--wide");
    options.format = given.value("--format").value_or(options.format);
    return options;
}

void listDevices(Context& context, const GivenCommand& given) {
    SlurmQuestion nodesQuestion(nodesCommand());
    SlurmQuestion jobsQuestion(jobsCommand());
    const Nodes nodes = understood(nodesQuestion, readNodes);
    const Jobs jobs = understood(jobsQuestion, readJobs);
    if (nodes.empty())
        reportNoGpus();
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, devicesJson(nodes, jobs));
        return;
    }
    const ListingOptions options = listingOptions(given);
    options.print(context.options, devicesTable(nodes, jobs, options));
}

void listJobs(Context& context, const GivenCommand& given) {
    const Jobs jobs = allJobs();
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, jobsJson(jobs));
        return;
    }
    const ListingOptions options = listingOptions(given);
    options.print(context.options, jobsTable(jobs, options));
}

void listQueue(Context& context, const GivenCommand& given) {
    const Jobs jobs = allJobs();
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, queueJson(jobs));
        return;
    }
    const ListingOptions options = listingOptions(given);
    options.print(context.options, queueTable(jobs, options, currentTime()));
}

struct ClusterCommand {
    std::string_view name;
    void (*run)(Context& context, const GivenCommand& given);
};

constexpr std::array clusterCommands{
    ClusterCommand{"run", runJob},           ClusterCommand{"activate", runShellJob},
    ClusterCommand{"deactivate", cancelJob}, ClusterCommand{"extend", extendJob},
    ClusterCommand{"devices", listDevices},  ClusterCommand{"envs", listJobs},
    ClusterCommand{"queue", listQueue}};

std::string fullName(const GivenCommand& given) {
    return given.subcommand.empty() ? given.name : given.name + " " + given.subcommand;
}

[[noreturn]] void refuse(const std::string& what, const Meaning& meaning) {
    throw Failure(ExitStatus::Usage,
                  fmt::format("\"{}\" is not possible on a Slurm cluster: {}", what, meaning.why),
                  meaning.hint);
}

Handling handlingOf(const GivenCommand& given) {
    const bool isAboutThisMachine =
        std::ranges::any_of(given.options, [](const GivenOption& option) {
            return option.onCluster && option.onCluster->use == Handling::ThisMachine;
        });
    return isAboutThisMachine ? Handling::ThisMachine : given.onCluster.use;
}

void requireCounterparts(const GivenCommand& given) {
    if (given.onCluster.use == Handling::Refused)
        refuse(fullName(given), given.onCluster);
    for (const GivenOption& option : given.options) {
        if (option.onCluster && option.onCluster->use == Handling::Refused)
            refuse(option.name, *option.onCluster);
    }
}

// Returns the hint of a command that refuses a cluster, since it is about this machine. A
// subcommand has the hint of its command.
const char* hintFor(const CLI::App& app) {
    const Meaning meaning = Definition::of(app).traitsOf(*app.get_subcommands().front()).onCluster;
    const bool hasHint = meaning.use == Handling::ThisMachine && *meaning.hint != '\0';
    return hasHint ? meaning.hint : "Leave --cluster out.";
}

} // namespace

bool run(const CLI::App& app, Context& context) {
    const auto given = givenCommand(app);
    const std::optional<std::string>& typed = context.options.cluster;
    if (!given || handlingOf(*given) == Handling::Itself ||
        (!typed && handlingOf(*given) == Handling::ThisMachine))
        return false;
    if (context.options.host) {
        if (typed && *typed != "none")
            throw Failure(ExitStatus::Usage, "--cluster cannot be combined with --host",
                          "Leave --host out: Slurm chooses the node.");
        return false;
    }
    if (chosenCluster(typed, getenv, readConfiguration) == Cluster::None)
        return false;
    if (handlingOf(*given) == Handling::ThisMachine)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("\"{}\" is about this machine, not about a cluster", fullName(*given)),
            hintFor(app));
    requireCounterparts(*given);
    if (handlingOf(*given) == Handling::UserJobs) {
        context.openJobs = openSlurmJobs;
        return false;
    }
    for (const ClusterCommand& command : clusterCommands) {
        if (command.name == given->name)
            command.run(context, *given);
    }
    return true;
}

} // namespace genv::ctl::cluster
