// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the history from journal files. Any user may write a record that looks like one of the
// service's. Therefore only records from root count, and if the service runs in a unit, only those
// of that unit. Blocks, so call it on a worker.
#pragma once

#include "core/ports/history.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace genv::service::journal {

struct Source {
    std::filesystem::path directory; ///< folder of journal files; empty: this machine's journal
    std::optional<std::string> unit; ///< only its records count; unset: all of root's records count

    /// Returns the journal of this machine and the unit in which this process runs.
    static Source system();
};

/// The limits of a read.
struct Bounds {
    std::chrono::milliseconds time{20'000};
    /// Total size of the rows. The bus transfers this amount without a noticeable delay.
    std::size_t bytes = std::size_t{1} << 20U;
};

/// Reads a page of events. Stops early once `stop` is set. Errors are stored in the page:
/// NotSupported if there is no journal, Timeout, or InvalidArgs for an invalid cursor.
core::HistoryPage read(const Source& source, const core::HistoryFilter& query, const Bounds& bounds,
                       const std::atomic<bool>& stop);

} // namespace genv::service::journal
