// SPDX-License-Identifier: LGPL-2.1-or-later
// Many cheap processes that wait until they are ended, all children of one leader. They end with
// this object, and also when the program ends in whatever way.
#pragma once

#include "core/descriptor.hpp"
#include "core/process.hpp"

#include <sys/types.h>

#include <vector>

namespace genv::bench {

class Crowd {
  public:
    /// Starts the leader.
    Crowd();
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    /// Returns when the last process has ended.
    ~Crowd();

    [[nodiscard]] core::Pid leader() const { return static_cast<core::Pid>(leader_); }
    /// Starts further children and returns when all run.
    void add(std::size_t count);
    [[nodiscard]] const std::vector<core::Pid>& children() const { return children_; }

  private:
    pid_t leader_ = -1;
    core::Descriptor orders_;  ///< to the leader: how many more
    core::Descriptor reports_; ///< from each child: its pid; at its end once all are gone
    std::vector<core::Pid> children_;
};

} // namespace genv::bench
