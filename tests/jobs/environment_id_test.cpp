// SPDX-License-Identifier: LGPL-2.1-or-later
// The ids of the environments of attempts.
#include "client/jobs/model/attempt_environment_id.hpp"

#include <gtest/gtest.h>

namespace genv::jobs {
namespace {

TEST(JobEnvironmentId, NamesJobTaskAndAttempt) {
    EXPECT_EQ(environmentIdOf({{17, 0}, 1}, false), "job-17");
    EXPECT_EQ(environmentIdOf({{17, 3}, 1}, true), "job-17.3");
    EXPECT_EQ(environmentIdOf({{17, 0}, 2}, true), "job-17.0-2");
    EXPECT_EQ(environmentIdOf({{17, 0}, 2}, false), "job-17-2");
}

TEST(JobEnvironmentId, AvoidsThoseOfOtherUsers) {
    const std::string second = environmentIdOf("job-17.3-2", 1001, 5);
    EXPECT_EQ(second, "job-17.3-2@1001");
    EXPECT_EQ(environmentIdOf(second, 1001, 6), "job-17.3-2@1001.6");
    EXPECT_EQ(environmentIdOf("job-17.3-2@1001.6", 1001, 7), "job-17.3-2@1001.7");
}

TEST(JobEnvironmentId, TellsTheJob) {
    for (const char* id :
         {"job-17", "job-17.3", "job-17-2", "job-17.3-2", "job-17@1001", "job-17.3-2@1001.6"})
        EXPECT_EQ(jobOf(id), 17U) << id;
    for (const char* id : {"", "17", "job-", "job-x", "job-017", "job-17.03", "job-17x", "job-17.",
                           "job-17.x", "job-17-", "job-17@", "job-17@1001.", "job-17.3.4",
                           "slurm-17", "job-99999999999", "xjob-17"})
        EXPECT_EQ(jobOf(id), std::nullopt) << id;
}

} // namespace
} // namespace genv::jobs
