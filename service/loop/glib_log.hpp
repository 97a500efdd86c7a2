// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes the messages of GLib, GIO and libpolkit to the service's own log. A client can make
// libpolkit complain any number of times by disconnecting during an authorization check. The
// messages of each library are therefore rate-limited, and the log's thread writes them instead of
// the thread that logs them.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace genv::service {

/// Writes a limited number of lines per library and minute, and counts the others.
class GlibLog {
  public:
    static constexpr std::size_t linesPerMinute = 10;

    /// Both arguments must outlive this object.
    GlibLog(core::Log& log, const core::Clock& clock);
    /// Logs how many lines were omitted. Later messages from GLib are dropped.
    ~GlibLog();
    GlibLog(const GlibLog&) = delete;
    GlibLog& operator=(const GlibLog&) = delete;

    /// Makes GLib pass the messages of all threads to this object. GLib allows this only once per
    /// process.
    void install() const;

    /// Handles a message of a library, which GLib calls a domain. Called by any thread.
    void take(const std::string& domain, core::Severity severity, const std::string& message) const;

  private:
    class Lines;

    std::shared_ptr<Lines> lines_; ///< shared with GLib, which never releases it
};

} // namespace genv::service
