// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples how much GPU memory the running tasks use, for the peak of each. Asks genvd a second
// after tasks with GPUs began to run, and then every ten seconds.
#pragma once

#include "client/jobs/daemon/service_link.hpp"
#include "client/jobs/model/book.hpp"
#include "client/loop.hpp"

namespace genv::jobs {

class Sampler {
  public:
    Sampler(Book& book, ServiceLink& service, sd_event* loop);
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    /// Tasks have started or ended.
    void onChange();

  private:
    void sample();

    Book& book_;
    ServiceLink& service_;
    bool hasSampled_ = false; ///< since the first of the tasks that run has started
    event::Timer timer_;
};

} // namespace genv::jobs
