// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/dependencies.hpp"

#include "client/jobs/model/job_state.hpp"

#include <fmt/format.h>

namespace genv::jobs {

namespace {

DependencyVerdict never(const Job& job, std::string_view what) {
    return {.met = Met::Never,
            .reason = fmt::format("job {} {}", job.number, what),
            .at = endOf(job).value_or(job.submitted)};
}

DependencyVerdict verdictOn(const Job& other, Condition condition) {
    if (isUnfinished(other))
        return {.met = Met::NotYet, .reason = {}, .at = {}};
    const Progress& progress = other.progress;
    switch (condition) {
    case Condition::Any:
        break;
    case Condition::Fail:
        if (progress.failed + progress.lost == 0)
            return never(other, "did not fail");
        break;
    case Condition::Ok:
        if (progress.failed > 0)
            return never(other, "failed");
        if (progress.lost > 0)
            return never(other, "was lost");
        if (progress.canceled > 0)
            return never(other, "was canceled");
        break;
    }
    return {};
}

} // namespace

DependencyVerdict verdictOn(const Job& job, const std::map<JobNumber, Job>& jobs) {
    DependencyVerdict verdict;
    for (const Dependency& dependency : job.plan.after) {
        const auto other = jobs.find(dependency.job);
        if (other == jobs.end())
            continue;
        DependencyVerdict next = verdictOn(other->second, dependency.condition);
        if (next.met > verdict.met)
            verdict = std::move(next);
    }
    return verdict;
}

} // namespace genv::jobs
