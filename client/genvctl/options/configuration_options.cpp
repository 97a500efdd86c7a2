// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/configuration_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace genv::ctl {

namespace {

constexpr const char* askForANumber =
    "Ask for a number of them with --gpus, and for a model with --model.";

} // namespace

void ConfigurationOptions::addTo(CLI::App& command) {
    addNameTo(command);
    addDevicesTo(command);
}

void ConfigurationOptions::addNameTo(CLI::App& command) {
    addOption(command, "--name", name, "Set the name of the environment",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("NAME");
}

void ConfigurationOptions::addDevicesTo(CLI::App& command) {
    addOption(command, "--gpus", gpus, "Attach N GPUs",
              {.values = ValueKind::DeviceCount, .onCluster = cluster::mapped})
        ->type_name("N")
        ->group(gpuOptions);
    addOption(command, "--gpu-memory", gpuMemory,
              "Use AMOUNT of each GPU's memory, such as 4g [default: all]",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("AMOUNT")
        ->group(gpuOptions);
    addFlag(command, "--allow-over-subscribe", overSubscribable, "Let other users share these GPUs",
            {.onCluster =
                 cluster::refused("Slurm shares no GPU that a job has as a whole",
                                  "Leave it out, or ask for a part of one with --gpu-memory.")})
        ->group(gpuOptions);
    addPreemptibleTo(command, preemptible);
}

void addPreemptibleTo(CLI::App& command, std::string& kind) {
    addFlag(command, "--preemptible{park}", kind,
            "Lend the GPUs: requests of others park, or end, the programs",
            {.values = OneOf{"park", "end"},
             .onCluster =
                 cluster::refused("genv does not park Slurm's jobs",
                                  "Leave it out, or use a partition or QOS that Slurm preempts.")})
        ->check(CLI::IsMember({"park", "end"}).description(""))
        ->type_name("park|end")
        ->group(gpuOptions);
}

std::optional<std::string> preemptibleKind(const std::string& kind) {
    return kind.empty() ? std::nullopt : std::optional(kind);
}

Configuration ConfigurationOptions::read() const {
    Configuration configuration;
    if (name)
        setField(configuration, Field::Name, *name);
    if (gpuMemory)
        setField(configuration, Field::GpuMemory, *gpuMemory);
    if (gpus)
        setField(configuration, Field::Gpus, *gpus);
    return configuration;
}

void ConsentOptions::addTo(CLI::App& command) {
    CLI::Option* allow = command.add_flag("--allow-over-subscribe", allows,
                                          "Let other users share the environment's GPUs");
    command
        .add_flag("--no-allow-over-subscribe", forbids,
                  "Let no other users share the environment's GPUs")
        ->excludes(allow);
}

std::optional<bool> ConsentOptions::setting() const {
    return allows || forbids ? std::optional(allows) : std::nullopt;
}

void DeviceOptions::addTo(CLI::App& command) {
    addNamesTo(command);
    addModelTo(command);
}

void DeviceOptions::addNamesTo(CLI::App& command) {
    // One word for each option, because the following words may be the command to run.
    addOption(command, "--index", indices, "Attach the GPUs with these indices",
              {.values = ValueKind::Device,
               .onCluster = cluster::refused("Slurm chooses the GPUs of a job", askForANumber)})
        ->type_name("I[,I]...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->group(gpuOptions);
    addOption(command, "--uuid", uuids, "Attach the GPUs with these UUIDs",
              {.values = ValueKind::DeviceUuid,
               .onCluster = cluster::refused("Slurm chooses the GPUs of a job, and knows no UUIDs",
                                             askForANumber)})
        ->type_name("UUID[,UUID]...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->group(gpuOptions);
}

void DeviceOptions::addModelTo(CLI::App& command) {
    addOption(command, "--model", model, "Attach only GPUs whose model name contains NAME",
              {.values = ValueKind::Model, .onCluster = cluster::mapped})
        ->type_name("NAME")
        ->group(gpuOptions);
}

void DeviceOptions::check(bool hasCount, const char* countOption) const {
    if (!indices.empty() && !uuids.empty())
        throw Failure(ExitStatus::Usage, "--index and --uuid cannot be combined");
    if (areNamed() && hasCount)
        throw Failure(ExitStatus::Usage,
                      fmt::format("--index and --uuid cannot be combined with {}", countOption),
                      "These options already determine the number of GPUs.");
    if (model && areNamed())
        throw Failure(ExitStatus::Usage, "--model cannot be combined with --index and --uuid",
                      "Leave --model out.");
}

Configuration merged(Configuration first, const Configuration& second) {
    if (!first.name)
        first.name = second.name;
    if (!first.gpus)
        first.gpus = second.gpus;
    if (!first.gpuMemoryBytes)
        first.gpuMemoryBytes = second.gpuMemoryBytes;
    return first;
}

} // namespace genv::ctl
