// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports events in the journal and in the files that shell prompts read.
#pragma once

#include "service/journal/event_log.hpp"
#include "service/journal/logger.hpp"
#include "service/journal/named_lines.hpp"
#include "service/journal/record_queue.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/machine_adapters.hpp"
#include "service/sharing.hpp"
#include "service/shell/shell_files.hpp"
#include "service/shell/shell_news.hpp"

#include <filesystem>

namespace genv::service {

/// The destructor writes the records that are still queued.
struct Reporting {
    /// The files are below `runtime`. All arguments must outlive this object.
    Reporting(MachineAdapters& machine, Sharing& sharing, GlibLoop& loop, Logger& log,
              journal::NamedLines& lines, const std::filesystem::path& runtime);

    /// Reports the result of the recovery.
    void recovered(const core::RecoveryReport& report);

    journal::RecordQueue records;
    EventLog eventLog;
    journal::RefusalLog refusals;
    ShellFiles shellFiles;
    ShellNews shellNews;

  private:
    core::Log& log_;
};

} // namespace genv::service
