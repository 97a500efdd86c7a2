// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/submissions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::jobs {

const Submission& Submissions::get(JobNumber job) {
    const auto found = std::ranges::find(kept_, job, [](const auto& entry) { return entry.first; });
    if (found != kept_.end()) {
        kept_.splice(kept_.begin(), kept_, found);
    } else {
        kept_.emplace_front(job, store_.submission(job));
        if (kept_.size() > maxKept)
            kept_.pop_back();
    }
    return kept_.front().second;
}

void Submissions::forget(JobNumber job) {
    kept_.remove_if([job](const auto& entry) { return entry.first == job; });
}

std::string Submissions::outputOf(TaskName task, const Places& places) {
    const Submission& submission = get(task.job);
    if (submission.output.empty())
        return logOf(task, submission.isArray, places);
    std::string output = submission.output;
    if (submission.isArray && output.find("{}") != std::string::npos)
        replaceValue(output, value(task));
    return output;
}

void replaceValue(std::string& text, const std::string& value) {
    constexpr std::string_view place = "{}";
    for (std::size_t at = text.find(place); at != std::string::npos;
         at = text.find(place, at + value.size()))
        text.replace(at, place.size(), value);
}

std::string logOf(TaskName task, bool isArray, const Places& places) {
    return places.logs / (isArray ? fmt::format("{}.{}.log", task.job, task.number)
                                  : fmt::format("{}.log", task.job));
}

} // namespace genv::jobs
