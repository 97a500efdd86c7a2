// SPDX-License-Identifier: LGPL-2.1-or-later
// The environments that genv-jobs must leave: those whose attempt has joined them, or never will.
// While genv-jobs is a root process of an environment, its GPUs are not free for others. So it
// tries until genvd confirms.
#pragma once

#include "client/jobs/daemon/service_link.hpp"
#include "client/loop.hpp"

#include <set>
#include <string>

namespace genv::jobs {

class Leaving {
  public:
    Leaving(ServiceLink& service, sd_event* loop);
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    void leave(const std::string& environment);
    /// genvd has come.
    void onService();

  private:
    void send(const std::string& environment);

    ServiceLink& service_;
    std::set<std::string> environments_; ///< not yet confirmed
    event::Timer retry_;
};

} // namespace genv::jobs
