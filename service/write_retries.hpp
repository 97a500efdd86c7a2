// SPDX-License-Identifier: LGPL-2.1-or-later
// Retries failed writes every second: documents of environments and files that prompts read. The
// changes behind those writes stay in effect meanwhile.
#pragma once

#include "core/ledger/ledger.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "service/shell/shell_files.hpp"
#include "service/state/file_store.hpp"

#include <memory>
#include <string>

namespace genv::service {

class WriteRetries {
  public:
    /// Retries at once the writes that have failed so far, and from now on each write that fails.
    /// `store` holds the ledger's documents. All arguments must outlive this object.
    WriteRetries(core::Ledger& ledger, FileStore& store, ShellFiles& shellFiles,
                 core::Scheduler& scheduler, core::Log& log);
    ~WriteRetries();
    WriteRetries(const WriteRetries&) = delete;
    WriteRetries& operator=(const WriteRetries&) = delete;

  private:
    void logOnce(const std::string& why);
    void retryLater();
    void retry();

    core::Ledger& ledger_;
    FileStore& store_;
    ShellFiles& shellFiles_;
    core::Scheduler& scheduler_;
    core::Log& log_;
    std::unique_ptr<core::Scheduled> timer_; ///< runs while a write is pending
    bool hasLogged_ = false;                 ///< the failed write has been logged
};

} // namespace genv::service
