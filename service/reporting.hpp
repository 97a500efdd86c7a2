// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports what happens, in records of the journal and in the files that prompts read.
#pragma once

#include "service/journal/event_log.hpp"
#include "service/journal/logger.hpp"
#include "service/journal/record_queue.hpp"
#include "service/journal/refusal_log.hpp"
#include "service/machine.hpp"
#include "service/sharing.hpp"
#include "service/shell/shell_files.hpp"
#include "service/shell/shell_news.hpp"

#include <filesystem>

namespace genv::service {

/// The destructor writes the records that still wait.
struct Reporting {
    /// The files are below `runtime`. All outlive this.
    Reporting(Machine& machine, Sharing& sharing, GlibLoop& loop, Logger& log,
              const std::filesystem::path& runtime);

    /// Reports what recovery found.
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
