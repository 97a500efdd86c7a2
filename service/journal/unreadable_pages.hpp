// SPDX-License-Identifier: LGPL-2.1-or-later
// libsystemd maps the files of the journal. A page of one that was cut short, or that the disk
// does not give, raises SIGBUS in whoever reads it, which would end the service.
#pragma once

#include <csignal>

namespace genv::service::journal {

/// While one exists, a page of a mapped file that this thread cannot read becomes a page of zeros,
/// which libsystemd takes for damage. The pages that other threads cannot read still end the
/// process.
class UnreadablePages {
  public:
    UnreadablePages();
    ~UnreadablePages();
    UnreadablePages(const UnreadablePages&) = delete;
    UnreadablePages& operator=(const UnreadablePages&) = delete;

    /// Whether there was one.
    [[nodiscard]] bool found() const { return found_ != 0; }

  private:
    volatile std::sig_atomic_t found_ = 0;
};

} // namespace genv::service::journal
