// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/housekeeping.hpp"

#include "client/descriptor_functions.hpp"
#include "client/jobs/daemon/wall_clock.hpp"
#include "client/jobs/model/job_error.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace genv::jobs {

namespace {

constexpr std::chrono::hours day{24};

void removeLogs(const Job& job, const Places& places) {
    for (const Task& task : job.tasks) {
        std::error_code ignored; // the user may have removed it
        std::filesystem::remove(logOf({job.number, task.number}, job.isArray, places), ignored);
    }
}

} // namespace

Housekeeping::Housekeeping(Book& book, Submissions& submissions, const Places& places,
                           sd_event* loop)
    : book_(book), submissions_(submissions), places_(places),
      isMarked_(::access(places.unfinished.c_str(), F_OK) == 0),
      timer_(loop, [this] { forget(); }) {
    forget();
    if (book_.isUnfinished())
        expectUnfinished();
    onChange();
}

void Housekeeping::expectUnfinished() {
    if (isMarked_)
        return;
    const client::Descriptor mark(
        ::open(places_.unfinished.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    const client::Descriptor folder(
        ::open(places_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!mark.isOpen() || !folder.isOpen() || ::fsync(folder.get()) < 0)
        fail(JobErrorCode::StorageFailed, "cannot write {}: {}",
             core::escaped(places_.unfinished.native(), 512), std::strerror(errno));
    isMarked_ = true;
}

// The database comes first: after a crash, it may have a task that still runs.
void Housekeeping::onChange() {
    if (!isMarked_ || book_.isUnfinished() || !book_.writeAgain())
        return;
    ::unlink(places_.unfinished.c_str());
    isMarked_ = false;
}

void Housekeeping::forget() {
    timer_.start(day);
    try {
        for (const Job& job : book_.forget(wallClock())) {
            removeLogs(job, places_);
            submissions_.forget(job.number);
        }
    } catch (const JobError& error) {
        std::fprintf(stderr, "genv-jobs: cannot forget old jobs: %s\n", error.what());
    }
}

} // namespace genv::jobs
