// SPDX-License-Identifier: LGPL-2.1-or-later
// park and resume: an environment steps aside with its processes, and goes on later.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/objects/machine_objects.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace genv::ctl {

namespace {

// Runs a command on the environment with this id, or that of the shell.
void onEnvironment(Context& context, const std::optional<std::string>& id,
                   const std::function<void(const std::string&)>& run) {
    if (id) {
        core::requireIdentifier(*id, "id");
        run(*id);
    } else {
        context.inEnvironment(run);
    }
}

std::string progressText(const ParkingState& parking) {
    return fmt::format("{} of {}", core::nameMemory(core::Bytes{parking.movedBytes}),
                       core::nameMemory(core::Bytes{parking.bytesToMove}));
}

TurnText parkingText(Client& client, const std::string& id) {
    return [&client, id](bool brief) -> std::optional<TurnLine> {
        const ParkingState parking = client.environment(id).parking;
        if (parking.bytesToMove == 0)
            return brief ? std::optional<TurnLine>("parking") : std::nullopt;
        return parking.state == "resuming"
                   ? fmt::format("cannot park; moving back: {}", progressText(parking))
                   : fmt::format("parking: {} moved to host memory", progressText(parking));
    };
}

// While the devices are not granted, this is the place in the queue.
TurnText resumingText(Client& client, const std::string& id) {
    const auto isWaiting = [id](const EnvironmentEntry& entry) { return entry.id == id; };
    return [&client, id, queue = queueText(client, isWaiting)](bool brief) -> TurnState {
        const ParkingState parking = client.environment(id).parking;
        if (parking.state != "resuming")
            return queue(brief);
        if (!parking.problem.empty())
            return TurnLine("resuming: " + parking.problem);
        return TurnLine(fmt::format("resuming: {} moved back", progressText(parking)));
    };
}

std::string timeSince(std::chrono::steady_clock::time_point began) {
    return core::formatDuration(
        std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - began));
}

bool printedJson(Context& context, const std::string& id) {
    return context.options.json != JsonMode::Off &&
           printJson(context.options, environmentObject(context.client(), id));
}

void park(Context& context, const std::string& id) {
    const auto began = std::chrono::steady_clock::now();
    const auto devices = context.client().environment(id).devices;
    inTurn(
        context, parkingText(context.client(), id), std::nullopt,
        "Interrupted while parking; the environment goes on",
        [&](Client& client, const Waiting& waiting) {
            return client.park(id, waiting) ? std::optional(true) : std::nullopt;
        },
        [](bool) { return std::string("parked"); });
    if (printedJson(context, id))
        return;
    const ParkingState parking = context.client().environment(id).parking;
    print(fmt::format("Environment {} is parked: {} moved to host memory in {}, and {} {} free\n",
                      shown(id), core::nameMemory(core::Bytes{parking.memoryBytes}),
                      timeSince(began), core::nameGpus(devices),
                      devices.size() == 1 ? "is" : "are"));
}

void resume(Context& context, const std::string& id, const WaitingOptions& waitingOptions) {
    const auto began = std::chrono::steady_clock::now();
    AttachOptions options;
    waitingOptions.apply(options);
    const char* undone =
        "Interrupted; with its GPUs granted, the environment resumes, otherwise it stays parked";
    const TurnText text = resumingText(context.client(), id);
    const auto call = [&](Client& client, const Waiting& waiting) {
        return client.resume(id, options, waiting);
    };
    const auto granted = [](const std::vector<std::uint32_t>& indices) {
        return core::nameGpus(indices) + " attached";
    };
    const auto devices = options.waits()
                             ? inTurn(context, text, options.timeout(), undone, call, granted)
                             : atOnce(context, text, undone, call, granted);
    if (printedJson(context, id))
        return;
    print(fmt::format("Environment {} goes on on {} after {}\n", shown(id), core::nameGpus(devices),
                      timeSince(began)));
}

// Returns whether it goes on.
bool resumeOneOf(Context& context, const Environment& environment) {
    const auto complainOf = [&](const Failure& failure) {
        complain(fmt::format("Environment {} of {} stays parked ({}): {}", shown(environment.id),
                             shown(environment.user), core::nameProcesses(environment.processes),
                             failure.what()),
                 failure.hint());
    };
    try {
        resume(context, environment.id, {});
        return true;
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) {
        complainOf(context.failureOf(error));
    } catch (const Failure& failure) {
        complainOf(failure);
    }
    return false;
}

// Resumes the parked environments of the user, or as root of all users. The removal of the package
// does so: without the service, they could never go on.
void resumeAll(Context& context) {
    std::size_t parked = 0;
    for (const Environment& environment : context.client().machine().environments) {
        if (environment.parking.state == "active" ||
            (context.uid() != 0 && context.uid() != environment.uid))
            continue;
        if (!resumeOneOf(context, environment))
            ++parked;
    }
    if (parked > 0)
        throw Failure(ExitStatus::Failed,
                      parked == 1 ? "1 environment stays parked"
                                  : fmt::format("{} environments stay parked", parked),
                      "End their processes, or resume each with \"--wait\".");
}

} // namespace

constexpr std::array parkExamples{
    Example{"Free the GPUs for others while your programs wait", "genv park"},
};

void addPark(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "park", "Move an environment to host memory and free its GPUs",
                   {.onCluster = cluster::refused(
                        "genv does not park Slurm's jobs",
                        "\"scontrol suspend\" and \"scontrol requeue\" are Slurm's own ways."),
                    .examples = parkExamples});
    const auto id = std::make_shared<std::optional<std::string>>();
    addOption(*command, "--id,--eid", *id, "Park environment ID [default: the shell's]",
              {.values = ValueKind::Environment})
        ->type_name("ID");
    command->footer("Its processes stand still where they use a GPU, until \"genvctl resume\".\n"
                    "Ctrl-C undoes it.");
    command->callback([&context, id] {
        context.command = [&context, id] {
            onEnvironment(context, *id, [&](const std::string& chosen) { park(context, chosen); });
        };
    });
}

constexpr std::array resumeExamples{
    Example{"Get the same GPUs again, and let the programs go on", "genv resume --wait"},
};

void addResume(CLI::App& app, Context& context) {
    CLI::App* command =
        addCommand(app, "resume", "Let a parked environment go on",
                   {.onCluster = cluster::refused(
                        "genv does not park Slurm's jobs",
                        "\"scontrol resume JOBID\" resumes a job that Slurm suspended."),
                    .examples = resumeExamples});
    const auto id = std::make_shared<std::optional<std::string>>();
    const auto waiting = std::make_shared<WaitingOptions>();
    addOption(*command, "--id,--eid", *id, "Resume environment ID [default: the shell's]",
              {.values = ValueKind::Environment})
        ->type_name("ID");
    waiting->addWaitTo(*command);
    const auto all = std::make_shared<bool>();
    command->add_flag("--all", *all, "Resume all your environments; as root, all users'")
        ->excludes("--id")
        ->excludes("--wait");
    command->footer("It needs the same GPUs again. \"--wait\" waits for them in the queue.");
    command->callback([&context, id, waiting, all] {
        context.command = [&context, id, waiting, all] {
            if (*all) {
                resumeAll(context);
                return;
            }
            onEnvironment(context, *id,
                          [&](const std::string& chosen) { resume(context, chosen, *waiting); });
        };
    });
}

} // namespace genv::ctl
