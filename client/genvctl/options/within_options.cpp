// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/within_options.hpp"

#include "client/environment_job.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/named_environment.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "genv/client.hpp"
#include "genv/error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdlib>

namespace genv::ctl {

namespace {

// Returns the parent of this process's environment, or that environment itself if it has none.
// Returns nothing if the process has no environment or if this cannot be determined.
std::optional<std::string> nearestParent(Client& client) {
    try {
        const std::string own = client.environmentOfProcess(0);
        return client.environment(own).parent.value_or(own);
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error&) {
        return std::nullopt;
    }
}

// Whether this process can be in the environment of a Slurm job: in every other one, the
// environment of this process does not matter.
bool mayBeInJob() {
    return client::jobOfThisProcess() || client::namedEnvironment() ||
           std::getenv("SLURM_JOB_ID") != nullptr;
}

} // namespace

void WithinOptions::addTo(CLI::App& command) {
    CLI::Option* some =
        addFlag(command, fmt::format("--within{{{}}}", ownEnvironment), within,
                "Use GPUs of environment ID [default: the current one]",
                {.values = ValueKind::OwnEnvironment, .onCluster = dividesThisMachine})
            ->type_name("ID")
            ->group(gpuOptions);
    addFlag(command, "--no-within", none, "Use the machine's GPUs, even in a Slurm job",
            {.onCluster = cluster::withoutEffect})
        ->excludes(some)
        ->group(gpuOptions);
}

std::vector<std::string> WithinOptions::words() const {
    if (none)
        return {"--no-within"};
    if (within == ownEnvironment)
        return {"--within"};
    return within.empty() ? std::vector<std::string>{} : std::vector{"--within=" + within};
}

std::optional<std::string> WithinOptions::choose(Client& client) const {
    if (none)
        return std::nullopt;
    if (isGiven() && within != ownEnvironment) {
        core::requireIdentifier(within, "id");
        return within;
    }
    if (!isGiven() && !mayBeInJob())
        return std::nullopt;
    auto parent = nearestParent(client);
    if (isGiven() && !parent)
        throw Failure(ExitStatus::NotInEnvironment,
                      "Not running in an environment that another one could be within",
                      "Name one with --within=ID; \"genvctl envs\" lists them.");
    if (!isGiven() && parent && !client::slurmJobOf(*parent))
        return std::nullopt;
    return parent;
}

} // namespace genv::ctl
