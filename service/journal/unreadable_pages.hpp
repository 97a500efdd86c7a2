// SPDX-License-Identifier: LGPL-2.1-or-later
// Handles unreadable pages of journal files. libsystemd maps these files. Reading a page of a
// truncated file, or one that the disk cannot deliver, raises SIGBUS, which would end the service.
#pragma once

#include <csignal>

namespace genv::service::journal {

/// While an object exists, each page of a mapped file that this thread cannot read is replaced by a
/// page of zeros, which libsystemd treats as damage. Unreadable pages in other threads still end
/// the process.
class UnreadablePages {
  public:
    UnreadablePages();
    ~UnreadablePages();
    UnreadablePages(const UnreadablePages&) = delete;
    UnreadablePages& operator=(const UnreadablePages&) = delete;

    /// Returns whether a page was replaced.
    [[nodiscard]] bool found() const { return found_ != 0; }

  private:
    volatile std::sig_atomic_t found_ = 0;
};

} // namespace genv::service::journal
