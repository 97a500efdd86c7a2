// SPDX-License-Identifier: LGPL-2.1-or-later
// Many cheap processes that wait to be killed, all children of one leader. They end when this
// object is destroyed, and also when the program ends in any other way.
#pragma once

#include "core/base/descriptor.hpp"
#include "core/base/process.hpp"

#include <sys/types.h>

#include <vector>

namespace genv::bench {

class Crowd {
  public:
    /// Starts the leader.
    Crowd();
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    /// Returns after the last process has ended.
    ~Crowd();

    [[nodiscard]] core::Pid leader() const { return static_cast<core::Pid>(leader_); }
    /// Starts more children, and returns when all of them run.
    void add(std::size_t count);
    [[nodiscard]] const std::vector<core::Pid>& children() const { return children_; }

  private:
    pid_t leader_ = -1;
    core::Descriptor orders_;  ///< to the leader: the number of additional children
    core::Descriptor reports_; ///< from each child: its PID; end of file after all have ended
    std::vector<core::Pid> children_;
};

} // namespace genv::bench
