// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/own_environment.hpp"

#include "client/environment_job.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/requests.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/shell/variables.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"
#include "dbus/contract/names.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace genv::ctl {

namespace {

// Returns the GPUs in the caller's own .genv. Another user's folder decides nothing here, and an
// invalid one must not prevent a command from starting.
Configuration ownProject() {
    try {
        if (const auto folder = projectFolder(); folder && isOwnFolder(*folder))
            return loadProject(*folder);
    } catch (const Failure& failure) {
        warn(failure.what(), failure.hint());
    }
    return {};
}

// Slurm decides which GPUs a job and its steps have.
bool isInSlurmJob(const std::optional<std::string>& parent) {
    return (parent && client::slurmJobOf(*parent)) || client::jobOfThisProcess();
}

// A user who named no GPU learns why the command takes one, and how to do without.
std::string requestForCommand(Context& context, const ActivateOptions& options) {
    try {
        return requestEnvironment(context, options);
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) {
        const Failure failure = context.failureOf(error);
        if (failure.status() != ExitStatus::NoDevice &&
            failure.status() != ExitStatus::QuotaExceeded)
            throw;
        // No wait helps if the machine has no such GPU.
        const bool mayWait = error.name() != dbus::contract::error::notEnoughDevices;
        throw Failure(failure.status(), failure.what(),
                      fmt::format("\"run\" takes a GPU unless told otherwise: {}\"--gpus 0\" runs "
                                  "without one.",
                                  mayWait ? "\"--wait\" waits for it, " : ""));
    }
}

StartedEnvironment start(Context& context, OwnEnvironmentOptions wanted,
                         const std::optional<std::string>& kernel) {
    const Time requested = currentTime();
    wanted.check();
    const auto parent = wanted.within.choose(context.client());
    wanted.meansOneGpu = wanted.meansOneGpu && !isInSlurmJob(parent);
    Configuration configuration = wanted.read();
    if (wanted.devices.model && !configuration.gpus)
        configuration.gpus = 1;
    const bool attaches = wanted.devices.areNamed() || configuration.gpus.value_or(0) > 0;
    ActivateOptions options;
    if (kernel)
        options.setKernel(kernel);
    else
        options.setPid(static_cast<std::uint32_t>(getpid()));
    options.setName(configuration.name)
        .setGpus(configuration.gpus)
        .setGpuMemoryBytes(configuration.gpuMemoryBytes)
        .setOverSubscribable(wanted.configuration.overSubscribable)
        .setPreemptible(preemptibleKind(wanted.configuration.preemptible))
        .setAttach(attaches)
        .setIndices(wanted.devices.indices)
        .setUuids(wanted.devices.uuids)
        .setOverSubscribe(wanted.overSubscribe)
        .setWithin(parent);
    if (attaches)
        options.setModel(wanted.devices.model);
    wanted.waiting.apply(options);
    options.setWait(options.waits() && attaches);
    std::string id = wanted.addsGpus() ? requestForCommand(context, options)
                                       : requestEnvironment(context, options);
    return {std::move(id), std::move(configuration), requested};
}

} // namespace

void OwnEnvironmentOptions::addTo(CLI::App& command) {
    configuration.addNameTo(command);
    addDevicesTo(command);
}

void OwnEnvironmentOptions::addDevicesTo(CLI::App& command) {
    addGpusTo(command);
    waiting.addTo(command, "End the environment");
}

void OwnEnvironmentOptions::addGpusTo(CLI::App& command) {
    configuration.addDevicesTo(command);
    devices.addModelTo(command);
    addFlag(command, "-o,--over-subscribe", overSubscribe,
            "Share GPUs that are already attached elsewhere", {.onCluster = slurmSharesNoGpus})
        ->group(gpuOptions);
    addFlag(command, "--nvml-filter", nvmlFilter, "Limit NVML to the environment's GPUs",
            {.onCluster = jobsSeeTheirOwnGpus})
        ->group(gpuOptions);
}

void OwnEnvironmentOptions::check() const {
    devices.check(configuration.read().gpus.has_value(), "--gpus");
    ActivateOptions unused;
    waiting.apply(unused);
}

Configuration OwnEnvironmentOptions::read() const {
    Configuration read = configuration.read();
    if (!addsGpus())
        return read;
    const Configuration project = ownProject();
    read.gpus = project.gpus.value_or(1);
    if (!read.gpuMemoryBytes)
        read.gpuMemoryBytes = project.gpuMemoryBytes;
    return read;
}

std::vector<std::string> OwnEnvironmentOptions::words() const {
    std::vector<std::string> words;
    const auto put = [&](const char* option, const std::optional<std::string>& value) {
        if (value)
            words.insert(words.end(), {option, *value});
    };
    put("--gpus", configuration.gpus);
    put("--gpu-memory", configuration.gpuMemory);
    if (!devices.indices.empty())
        words.insert(words.end(), {"--index", fmt::format("{}", fmt::join(devices.indices, ","))});
    if (!devices.uuids.empty())
        words.insert(words.end(), {"--uuid", fmt::format("{}", fmt::join(devices.uuids, ","))});
    put("--model", devices.model);
    if (overSubscribe)
        words.emplace_back("--over-subscribe");
    if (configuration.overSubscribable)
        words.emplace_back("--allow-over-subscribe");
    if (!configuration.preemptible.empty())
        words.push_back("--preemptible=" + configuration.preemptible);
    if (nvmlFilter)
        words.emplace_back("--nvml-filter");
    if (!waiting.wait.empty())
        words.push_back("--wait=" + waiting.wait);
    if (waiting.priority)
        words.push_back(fmt::format("--priority={}", *waiting.priority));
    put("--lifetime", waiting.lifetime);
    for (std::string& word : within.words())
        words.push_back(std::move(word));
    return words;
}

StartedEnvironment startOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                                       const std::optional<std::string>& kernel) {
    if (options.nvmlFilter)
        static_cast<void>(nvmlFilterVariable()); // checked first: without it, nothing is started
    context.client().listenForNotices(context.uid());
    StartedEnvironment started = start(context, options, kernel);
    context.warnOfNotices(started.id);
    return started;
}

void enterOwnEnvironment(Context& context, const OwnEnvironmentOptions& options,
                         const std::optional<std::string>& kernel) {
    const StartedEnvironment started = startOwnEnvironment(context, options, kernel);
    setOwnVariables(context.client(), started, options.nvmlFilter);
}

void joinEnvironment(Context& context, const std::string& id,
                     std::optional<std::uint32_t> predecessor) {
    core::requireIdentifier(id, "id");
    context.authorized(
        [&](Client& client) { client.addProcess(id, static_cast<std::uint32_t>(getpid())); });
    if (!predecessor)
        return;
    try {
        context.client().removeProcess(id, *predecessor);
    } catch (const Error& error) {
        // The process has already ended.
        if (error.name() != dbus::contract::error::noSuchProcess)
            throw;
    }
}

} // namespace genv::ctl
