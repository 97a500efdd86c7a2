// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/jobs_watch.hpp"

#include "client/jobs/link/jobs_unavailable.hpp"
#include "client/jobs/link/link.hpp"
#include "genv/error.hpp"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace genv::top {

namespace {

using namespace std::chrono_literals;

// A sweep of short tasks changes often.
constexpr auto betweenReads = 1s;
// A genv-jobs that runs and does not answer is asked again.
constexpr std::chrono::milliseconds retryInterval = 10s;

bool isReadableWithin(int descriptor, std::chrono::milliseconds time) {
    pollfd wanted{descriptor, POLLIN, 0};
    int ready = 0;
    while ((ready = poll(&wanted, 1, static_cast<int>(time.count()))) < 0 && errno == EINTR) {
    }
    return ready > 0;
}

/// Reads the jobs. Nothing if genv-jobs runs and does not answer.
std::optional<std::vector<jobs::JobRow>> read(jobs::Link& link) {
    if (!link.isRunning())
        return std::vector<jobs::JobRow>();
    try {
        return link.list(false);
    } catch (const jobs::Unavailable&) { // it has ended meanwhile, or is late
        return std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
}

void watch(Mailbox& mailbox, int stop) {
    jobs::Link link(jobs::Link::Use::Watch);
    link.listen();
    bool isShown = false;
    for (;;) {
        auto rows = read(link);
        const bool isLate = !rows;
        if (rows && (isShown || !rows->empty())) {
            isShown = !rows->empty();
            mailbox.post(
                JobsMessage{std::make_shared<std::vector<jobs::JobRow>>(*std::move(rows))});
        }
        // Changes that come meanwhile are read together.
        if (isReadableWithin(stop, betweenReads))
            return;
        link.await(stop, isLate ? std::optional(retryInterval) : std::nullopt);
        if (isReadableWithin(stop, 0ms))
            return;
    }
}

} // namespace

void watchJobs(Mailbox& mailbox, int stop) {
    try {
        watch(mailbox, stop);
    } catch (const std::exception&) {
        // The bus is gone, or was never there: there are no jobs to show.
        mailbox.post(JobsMessage{});
    }
}

} // namespace genv::top
