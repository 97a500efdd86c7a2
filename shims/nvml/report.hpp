// SPDX-License-Identifier: LGPL-2.1-or-later
// What the filter tells besides NVML's answers: a line on standard error when it cannot do its
// work, and, to a shim that started the program, what the program asked for. Each is told once by a
// process.
#pragma once

namespace genv::shims {

/// What is told to the descriptor whose number is in GENV_NVML_FILTER_REPORT, a line each.
enum class Event {
    ExportTable, ///< "export-table": the program got a table of NVML's that no filter sees
    Memory,      ///< "memory": it asked for a device's memory
    Processes,   ///< "processes": it asked for processes
    Answered,    ///< "view": the service said what the environment has
    NoService,   ///< "no-service": it did not, which standard error is told, too
    Anothers,    ///< "anothers": the environment is another user's; standard error is told, too
};

/// Tells it, unless that was done. Never fails, and no SIGPIPE comes of it.
void report(Event event);

} // namespace genv::shims
