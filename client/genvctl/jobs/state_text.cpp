// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/state_text.hpp"

#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace genv::ctl {

namespace {

std::string endText(const std::string& state, const std::string& reason) {
    if (reason == "starting")
        return reason;
    return reason.empty() ? state : fmt::format("{}: {}", state, reason);
}

std::string expectedText(std::uint64_t expected, Time now) {
    return expected == 0 ? ""
                         : fmt::format(", expected at {}",
                                       shortTimestamp(core::fromMicroseconds(expected), now));
}

// "waits for job 17" reads "waiting for job 17".
std::string waitingText(const std::string& state, const std::string& reason) {
    constexpr std::string_view waits = "waits ";
    if (reason == state)
        return state;
    if (state == "waiting" && reason.starts_with(waits))
        return state + ' ' + reason.substr(waits.size());
    return endText(state, reason);
}

std::string progressText(const jobs::JobRow& job, Time now) {
    std::string text = fmt::format("{}/{} done", job.done, job.tasks);
    const auto add = [&](std::uint32_t count, const char* what) {
        if (count > 0)
            text += fmt::format(", {} {}", count, what);
    };
    add(job.running, "running");
    add(job.failed, "failed");
    add(job.canceled, "canceled");
    if (job.waiting > 0 && job.running == 0)
        text += ", " + waitingText(job.state, job.reason) + expectedText(job.expected, now);
    return text;
}

} // namespace

std::string stateText(const jobs::JobRow& job, Time now) {
    if (job.isArray)
        return progressText(job, now);
    if (job.state == "waiting" || job.state == "held")
        return waitingText(job.state, job.reason) + expectedText(job.expected, now);
    return endText(job.state, job.reason);
}

std::string stateText(const jobs::TaskRow& task) {
    return task.isWaiting() ? waitingText(task.state, task.reason)
                            : endText(task.state, task.reason);
}

std::string runTimeText(std::uint64_t started, std::uint64_t ended, Time now) {
    if (started == 0)
        return "";
    const Time end = ended >= started ? core::fromMicroseconds(ended) : now;
    return spanText(std::max(end - core::fromMicroseconds(started), Time::duration{0}));
}

std::string nameText(const jobs::JobRow& job) {
    return job.name.empty() ? job.command : job.name;
}

} // namespace genv::ctl
