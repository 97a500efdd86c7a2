// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells when logs grow.
#pragma once

#include "client/descriptor_functions.hpp"

#include <set>
#include <string>

namespace genv::ctl {

/// A descriptor that becomes readable when a file in a watched folder changes. Where the kernel
/// watches no more folders, it becomes readable each second.
class LogWatch {
  public:
    LogWatch();

    /// Watches the folder of a file. Does nothing if it is watched.
    void add(const std::string& file);
    [[nodiscard]] int descriptor() const;
    /// Takes the notifications, so that only later changes make the descriptor readable.
    void drain() const;

  private:
    client::Descriptor inotify_;
    client::Descriptor timer_; ///< in place of inotify
    std::set<std::string> folders_;
};

} // namespace genv::ctl
