// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs as tests submit them.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/jobs/model/job_error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace genv::jobs::tests {

/// The start of the tests' time, and times after it.
constexpr core::WallTime at(std::int64_t seconds = 0) {
    return core::WallTime{std::chrono::seconds{1'800'000'000 + seconds}};
}

inline Submission single(Plan plan = {}) {
    Submission submission;
    submission.command = {"train"};
    submission.folder = "/data";
    submission.plan = std::move(plan);
    submission.tasks = {{0, ""}};
    return submission;
}

/// With tasks 1 to count, whose values are their numbers.
inline Submission array(std::uint32_t count, Plan plan = {}) {
    Submission submission = single(std::move(plan));
    submission.isArray = true;
    submission.tasks.clear();
    for (std::uint32_t number = 1; number <= count; ++number)
        submission.tasks.push_back({number, std::to_string(number)});
    return submission;
}

inline Plan after(std::vector<Dependency> dependencies) {
    Plan plan;
    plan.after = std::move(dependencies);
    return plan;
}

inline std::string everyByte() {
    std::string text;
    for (int byte = 1; byte < 256; ++byte)
        text.push_back(static_cast<char>(byte));
    return text;
}

/// Returns the text of the error that a call throws.
inline std::string errorOf(JobErrorCode code, const std::function<void()>& call) {
    try {
        call();
    } catch (const JobError& error) {
        EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

} // namespace genv::jobs::tests
