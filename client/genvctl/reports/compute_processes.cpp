// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/reports/compute_processes.hpp"

#include "client/genvctl/terminal/terminal.hpp"

#include <fmt/format.h>

namespace genv::ctl {

std::optional<std::vector<ComputeProcess>> processesOrNote(Client& client) {
    try {
        return client.processes();
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) {
        printNote(fmt::format("the processes on the GPUs are not known: {}", error.what()));
        return std::nullopt;
    }
}

} // namespace genv::ctl
