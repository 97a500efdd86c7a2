// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports events besides NVML's results: a line on standard error if the filter cannot work, and,
// to the shim that started the program, the program's use of NVML. Each process reports each event
// once.
#pragma once

namespace genv::shims {

/// The events. Each is written as a line to the descriptor whose number is in
/// GENV_NVML_FILTER_REPORT.
enum class FilterEvent {
    ExportTable, ///< "export-table": the program got a table that bypasses the filter
    Memory,      ///< "memory": the program queried a device's memory
    Processes,   ///< "processes": the program queried processes
    Answered,    ///< "view": the service reported the environment's contents
    NoService,   ///< "no-service": it did not; also on standard error
    Anothers,    ///< "anothers": another user's environment; also on standard error
};

/// Reports an event, unless already reported. Never fails, and never causes SIGPIPE.
void report(FilterEvent event);

} // namespace genv::shims
