// SPDX-License-Identifier: LGPL-2.1-or-later
// terminate: ends processes that use a GPU. Processes of others need an administrator's consent.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace genv::ctl {

namespace {

// Continues after a process that it cannot end, as kill(1) does.
void terminate(Context& context, const std::vector<std::uint32_t>& pids) {
    requireTermination("Unset that variable.");
    std::optional<ExitStatus> worst;
    for (const std::uint32_t pid : pids) {
        try {
            context.authorized([&](Client& client) { client.terminateProcess(pid); });
        } catch (const ServiceUnavailable&) {
            throw;
        } catch (const Error& error) {
            const Failure failure = context.failureOf(error);
            complain(failure.what(), failure.hint());
            worst = worst.value_or(failure.status());
        }
    }
    if (worst)
        throw Failure(*worst, ""); // the messages above have the reasons
}

} // namespace

constexpr std::array terminateExamples{
    Example{"End two processes", "genvctl terminate 4711 4712"},
};

void addTerminate(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "terminate", "End processes that use a GPU",
                                   {.onCluster = cluster::aboutThisMachine(
                                        "\"genvctl deactivate --id slurm-JOBID\" ends a job."),
                                    .examples = terminateExamples});
    const auto pids = std::make_shared<std::vector<std::uint32_t>>();
    addOption(*command, "PID", *pids, "End these processes", {.values = ValueKind::ComputeProcess})
        ->required()
        ->type_name("");
    command->footer("Each process gets SIGTERM, and SIGKILL if it does not end in time.");
    command->callback(
        [&context, pids] { context.command = [&context, pids] { terminate(context, *pids); }; });
}

} // namespace genv::ctl
