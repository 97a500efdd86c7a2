// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes again, every second, what could not be written: documents of environments, and files that
// prompts read. What happened stays so meanwhile.
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
    /// Retries from now on whatever cannot be written, and at once what could not be written until
    /// now. All outlive this.
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
    std::unique_ptr<core::Scheduled> timer_; ///< while something is to be written
    bool hasLogged_ = false;                 ///< that the state cannot be written
};

} // namespace genv::service
