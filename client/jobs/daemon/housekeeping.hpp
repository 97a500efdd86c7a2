// SPDX-License-Identifier: LGPL-2.1-or-later
// The files beside the database that follow from the jobs: the one that exists while a job is
// unfinished, and the logs, which are removed with their jobs.
#pragma once

#include "client/jobs/daemon/submissions.hpp"
#include "client/jobs/files/places.hpp"
#include "client/jobs/model/book.hpp"
#include "client/loop.hpp"

namespace genv::jobs {

class Housekeeping {
  public:
    /// Forgets old jobs now and every day.
    Housekeeping(Book& book, Submissions& submissions, const Places& places, sd_event* loop);
    Housekeeping(const Housekeeping&) = delete;
    Housekeeping& operator=(const Housekeeping&) = delete;

    /// A job is about to be unfinished: genv-jobs must start at the next login. Throws JobError
    /// (StorageFailed).
    void expectUnfinished();
    /// The jobs changed.
    void onChange();

  private:
    void forget();

    Book& book_;
    Submissions& submissions_;
    const Places& places_;
    bool isMarked_;
    event::Timer timer_;
};

} // namespace genv::jobs
