// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the history out of journal files. Any user may write a record that looks like one of the
// service's, so only root's are believed, and only the service's own unit's where it runs in one.
// Blocks: for a worker.
#pragma once

#include "core/ports/history.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace genv::service::journal {

struct Source {
    std::filesystem::path directory; ///< of journal files; empty: this machine's journal
    std::optional<std::string> unit; ///< whose records count; unset: all of root's

    /// The journal of this machine, and the unit that this process runs in.
    static Source system();
};

/// How much a read may take.
struct Bounds {
    std::chrono::milliseconds time{20'000};
    /// Of all rows; so many are put onto the bus in a fraction of what anybody would notice.
    std::size_t bytes = std::size_t{1} << 20U;
};

/// Reads a page of events; stops early once `stop` is set. What goes wrong is the page's failure:
/// NotSupported where there is no journal, Timeout, or InvalidArgs for a cursor that is none.
core::HistoryPage read(const Source& source, const core::HistoryQuery& query, const Bounds& bounds,
                       const std::atomic<bool>& stop);

} // namespace genv::service::journal
