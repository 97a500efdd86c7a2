// SPDX-License-Identifier: LGPL-2.1-or-later
// lock: runs a command that has exclusive use of the environment's devices among the users who
// share them. The command replaces genvctl in the same process and inherits the descriptor of the
// lock. The lock therefore lasts exactly as long as the command, however it ends, and as long as
// its children keep the descriptor open.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/turn.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fcntl.h>

#include <array>

namespace genv::ctl {

namespace {

std::optional<Lock> lockOf(Context& context, const Environment& environment) {
    try {
        return inTurn(
            context, lockText(context.client(), environment.id), std::nullopt,
            "Interrupted while waiting; the command was not run",
            [&](Client& client, const Waiting& waiting) {
                return client.lock(environment.id, waiting);
            },
            [&](const Lock&) { return core::nameGpus(environment.devices) + " locked"; });
    } catch (const Error& error) {
        if (error.name() == dbus::contract::error::notAttached)
            return std::nullopt; // detached meanwhile
        throw;
    }
}

void lock(Context& context, const std::vector<std::string>& words) {
    std::optional<Lock> lock;
    if (const auto environment = context.activeEnvironment()) {
        if (!environment->devices.empty())
            lock = lockOf(context, *environment);
    }
    if (lock)
        fcntl(lock->descriptor(), F_SETFD, 0);
    execute(words);
}

} // namespace

constexpr std::array lockExamples{
    Example{"Run a benchmark alone on a shared GPU", "genv lock -- ./benchmark"},
};

void addLock(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(
        app, "lock", "Run a command with exclusive use of shared GPUs",
        {.onCluster = cluster::aboutThisMachine("Use it in a job."), .examples = lockExamples});
    command->footer(
        "Programs that share the GPUs and use this command run one after the other. The\n"
        "lock ends with the command. Outside an environment, or without GPUs, the\n"
        "command runs without a lock.");
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, command] {
        const std::vector<std::string> words = commandWords(*command);
        context.command = [&context, words] { lock(context, words); };
    });
}

} // namespace genv::ctl
