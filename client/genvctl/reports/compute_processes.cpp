// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/compute_processes.hpp"

#include "client/genvctl/terminal/terminal.hpp"

#include <fmt/format.h>

namespace genv::ctl {

std::optional<std::vector<ProcessDescription>> processesOrNote(Client& client) {
    try {
        return client.describeProcesses();
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) {
        printNote(fmt::format("the processes on the GPUs are not known: {}", error.what()));
        return std::nullopt;
    }
}

MachineAnswers readAnswers(Client& client) {
    MachineAnswers answers;
    answers.processes = processesOrNote(client); // first, so that the readings are as recent
    answers.machine = client.machine();
    answers.queue = client.queue();
    return answers;
}

} // namespace genv::ctl
