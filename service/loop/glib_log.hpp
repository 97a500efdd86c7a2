// SPDX-License-Identifier: LGPL-2.1-or-later
// What GLib, GIO and libpolkit complain of, in the service's own log. A caller can make libpolkit
// complain as often as it likes, by leaving while it is asked about, so what each library says is
// rate-limited; and it is written by the log's thread, not by whoever complains.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace genv::service {

/// Lets so many lines of a library through in a minute, and counts the others.
class GlibLog {
  public:
    static constexpr std::size_t linesPerMinute = 10;

    /// Both outlive this.
    GlibLog(core::Log& log, const core::Clock& clock);
    /// Tells how many lines were left out. What GLib hands over later is dropped.
    ~GlibLog();
    GlibLog(const GlibLog&) = delete;
    GlibLog& operator=(const GlibLog&) = delete;

    /// Makes GLib hand its messages over, of every thread; GLib lets that be done once in a
    /// process.
    void install() const;

    /// Takes a message of a library, which GLib calls a domain. Called by any thread.
    void take(const std::string& domain, core::Severity severity, const std::string& message) const;

  private:
    class Lines;

    std::shared_ptr<Lines> lines_; ///< shared with GLib, which never gives it back
};

} // namespace genv::service
