// SPDX-License-Identifier: LGPL-2.1-or-later
// Retries failed writes every second: documents of environments and files that prompts read. The
// changes behind those writes stay in effect meanwhile.
#pragma once

#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "service/loop/glib_loop.hpp"
#include "service/reporting.hpp"
#include "service/sharing.hpp"

#include <memory>
#include <string>

namespace genv::service {

class WriteRetries {
  public:
    /// Retries at once the writes that have failed so far, and from now on each write that fails.
    /// All arguments must outlive this object.
    WriteRetries(Sharing& sharing, Reporting& reporting, GlibLoop& loop, core::Log& log);
    ~WriteRetries();
    WriteRetries(const WriteRetries&) = delete;
    WriteRetries& operator=(const WriteRetries&) = delete;

  private:
    void logOnce(const std::string& why);
    void retryLater();
    void retry();

    Sharing& sharing_;
    Reporting& reporting_;
    GlibLoop& loop_;
    core::Log& log_;
    std::unique_ptr<core::Scheduled> timer_; ///< runs while a write is pending
    bool hasLogged_ = false;                 ///< the failed write has been logged
};

} // namespace genv::service
