// SPDX-License-Identifier: LGPL-2.1-or-later
// attach and detach: change the devices of this shell's environment.
#include "client/environment_job.hpp"
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/requests.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

namespace genv::ctl {

namespace {

struct AttachArguments {
    std::optional<std::uint32_t> count;
    DeviceOptions devices;
    WaitingOptions waiting;
    bool configured = false;
    bool exact = false;
    bool refresh = false;
    bool overSubscribe = false;
    std::string preemptible;

    void check() const {
        const bool isCounted = count.has_value() || configured;
        if (count && configured)
            throw Failure(ExitStatus::Usage, "--gpus and --config cannot be combined");
        devices.check(isCounted, count ? "--gpus" : "--config");
        if (exact && devices.areNamed())
            throw Failure(ExitStatus::Usage, "--exact cannot be combined with --index and --uuid");
        if (refresh && (isCounted || devices.isGiven() || exact))
            throw Failure(ExitStatus::Usage,
                          "--refresh cannot be combined with options that request GPUs");
    }
};

// A shell without genv's function keeps its variables, because they cannot be changed from outside.
// One example is "sh -c" in a command of "run".
void warnOfUnchangedVariables(const std::string& visible) {
    const char* now = std::getenv("CUDA_VISIBLE_DEVICES");
    if (now == nullptr || now != visible)
        warn(fmt::format("the variables of this shell are unchanged: CUDA_VISIBLE_DEVICES is {}",
                         now == nullptr ? "not set" : core::escaped(now)),
             fmt::format("To use the attached GPUs: export CUDA_VISIBLE_DEVICES={}", visible));
}

// In a Slurm job, Slurm sets the variable, and its indices count the devices that the job may open.
bool isSlurms(const std::string& environment) {
    const auto job = client::slurmJobOf(environment);
    if (job)
        warn(fmt::format("CUDA_VISIBLE_DEVICES is unchanged: Slurm sets it for job {}", *job));
    return job.has_value();
}

void reportDevices(Context& context, const std::string& id,
                   const std::vector<std::uint32_t>& attached, ShellCode code = {}) {
    const std::string visible = visibleDevices(context.client(), id, attached);
    if (!context.shell)
        warnOfUnchangedVariables(visible);
    code.set(deviceVariables(visible));
    context.sendToShell(code);
}

std::string attachedAlready(const Environment& environment) {
    const std::string lease = environment.expires
                                  ? fmt::format("; the lease ends {}",
                                                relativeFuture(*environment.expires, currentTime()))
                                  : ", without a lease";
    return fmt::format("nothing to do: {} {} attached already{}",
                       core::nameGpus(environment.devices),
                       environment.devices.size() == 1 ? "is" : "are", lease);
}

// Without new GPUs, --lifetime is for those that are attached. It extends their lease and adds
// none, because a request for more time must not end anybody's work sooner.
void reportNothingNew(Context& context, const std::string& id,
                      const std::optional<std::string>& lifetime) {
    Environment environment = context.client().environment(id);
    if (environment.devices.empty()) {
        printNoteForPerson("nothing to do: no GPU is attached, and none is requested");
        return;
    }
    if (lifetime && !environment.expires) {
        warn(attachedAlready(environment), "\"--lifetime\" extends a lease and adds none; \"genv "
                                           "detach\" gives GPUs back.");
        return;
    }
    if (lifetime) {
        ConfigurationChange change;
        change.setLifetime(readLifetime("--lifetime", *lifetime));
        context.authorized([&](Client& client) { client.configure(id, change); });
        environment = context.client().environment(id);
    }
    printNoteForPerson(attachedAlready(environment));
}

void attach(Context& context, const AttachArguments& arguments) {
    arguments.check();
    context.inEnvironment([&](const std::string& id) {
        context.requireWritable(deviceVariables({}));
        if (arguments.refresh) {
            if (isSlurms(id))
                return;
            reportDevices(context, id, context.client().environment(id).devices);
            return;
        }
        context.client().listenForNotices(context.uid());
        AttachOptions request;
        request.setCount(arguments.count)
            .setIndices(arguments.devices.indices)
            .setUuids(arguments.devices.uuids)
            .setModel(arguments.devices.model)
            .setOverSubscribe(arguments.overSubscribe)
            .setPreemptible(preemptibleKind(arguments.preemptible))
            .setExact(arguments.exact);
        arguments.waiting.apply(request);
        std::vector<std::uint32_t> held = context.client().environment(id).devices;
        const std::optional<std::string> before = lastGrant(id);
        std::vector<std::uint32_t> attached = requestDevices(context, id, request);
        // Results shown here must not be reported again at the next prompt.
        ShellCode code;
        if (const std::optional<std::string> grant = lastGrant(id); grant && grant != before)
            code.know(*grant);
        reportDevices(context, id, attached, std::move(code));
        std::ranges::sort(held);
        std::ranges::sort(attached);
        if (attached == held)
            reportNothingNew(context, id, arguments.waiting.lifetime);
        context.warnOfNotices(id);
    });
}

void detach(Context& context, const std::vector<std::uint32_t>& indices) {
    context.inEnvironment([&](const std::string& id) {
        reportDevices(context, id, context.authorized([&](Client& client) {
            return client.detach(id, indices);
        }));
    });
}

} // namespace

constexpr std::array attachExamples{
    Example{"Attach two GPUs", "genv attach --gpus 2"},
    Example{"Attach GPUs 0 and 3", "genv attach --index 0,3"},
    Example{"Attach an A100, waiting until one is free",
            "genv attach --gpus 1 --model A100 --wait"},
};

void addAttach(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "attach", "Attach GPUs to the environment of this shell",
                   {.onCluster = cluster::refused(
                        "Slurm gives a job its GPUs when it starts, and no more of them later",
                        "Start another job: \"genv activate --gpus N\" or \"genvctl run --gpus N "
                        "-- COMMAND\"."),
                    .examples = attachExamples});
    const auto arguments = std::make_shared<AttachArguments>();
    command->add_flag("--config", arguments->configured,
                      "Attach the configured number of GPUs [default]");
    addOption(*command, "--gpus,--count", arguments->count, "Attach N GPUs",
              {.values = ValueKind::DeviceCount})
        ->type_name("N")
        ->group(gpuOptions);
    arguments->devices.addTo(*command);
    command->add_flag("--exact", arguments->exact, "Detach the newest GPUs if more are attached");
    command->add_flag("--refresh", arguments->refresh,
                      "Refresh the shell's variables without attaching");
    command
        ->add_flag("-o,--over-subscribe", arguments->overSubscribe,
                   "Share GPUs that are already attached elsewhere")
        ->group(gpuOptions);
    addPreemptibleTo(*command, arguments->preemptible);
    arguments->waiting.addTo(*command, "Detach the GPUs");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { attach(context, *arguments); };
    });
}

constexpr std::array detachExamples{
    Example{"Detach all GPUs", "genv detach"},
    Example{"Detach GPU 3", "genv detach --index 3"},
};

void addDetach(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "detach", "Detach GPUs from the environment of this shell",
                   {.onCluster = cluster::refused("a Slurm job keeps its GPUs until it ends",
                                                  "End the job with \"genvctl deactivate --id "
                                                  "slurm-JOBID\", and start one with fewer GPUs."),
                    .examples = detachExamples});
    const auto indices = std::make_shared<std::vector<std::uint32_t>>();
    addOption(*command, "--index", *indices, "Detach only the GPUs with these indices",
              {.values = ValueKind::AttachedDevice})
        ->type_name("I[,I]...")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->callback([&context, indices] {
        context.command = [&context, indices] { detach(context, *indices); };
    });
}

} // namespace genv::ctl
