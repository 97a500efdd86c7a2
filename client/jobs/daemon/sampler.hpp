// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples how much GPU memory the running tasks use, for the peak of each. Asks genvd every ten
// seconds, and only while a task with GPUs runs.
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
    event::Timer timer_;
};

} // namespace genv::jobs
