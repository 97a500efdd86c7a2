// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes a frame from the state of one machine's service.
#pragma once

#include "client/named_environment.hpp"
#include "client/top/frame.hpp"
#include "client/top/history_store.hpp"
#include "genv/loans.hpp"
#include "genv/machine.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::top {

/// The latest answers of the service.
struct ServiceView {
    Machine machine;
    std::vector<WaitingRequest> queue;
    std::vector<ProcessDescription> processes;
    std::string processTrouble; ///< why the processes are those of before; empty: they are not
};

/// The user at the terminal.
struct Viewer {
    std::uint32_t uid = 0;
    std::string host;                                    ///< empty: this machine
    std::optional<client::NamedEnvironment> environment; ///< that the shell is in
};

Frame frameOf(const ServiceView& view, const HistoryStore& history, const Viewer& observer,
              Time now);

} // namespace genv::top
