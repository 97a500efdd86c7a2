// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of limits and rules, from the present use that `genvctl policy` hands to genvd.
#include "core/base/error.hpp"
#include "service/limit_preview.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::tests {
namespace {

TEST(LimitPreview, NamesTheProcessesOutsideEveryEnvironmentAndTheirGpus) {
    core::Settings settings;
    settings.rules.nonEnvProcesses = true;
    const std::vector<std::string> sentences =
        service::previewOutside(settings, {"0:4711:0=GPU-a=held,2=GPU-c=", "0:4712:1=GPU-b="});
    ASSERT_EQ(sentences.size(), 1U);
    EXPECT_TRUE(sentences[0].starts_with(
        "root runs 2 processes (4711, 4712) on GPUs 0,1,2 outside every environment "
        "(NonEnvProcesses): "))
        << sentences[0];
}

TEST(LimitPreview, FindsTheLimitsOfAUsersGroups) {
    core::Limits limits;
    limits.maxDevices = 1;
    core::Settings settings;
    settings.limits.groups = {{"daemon", limits}};
    const std::vector<std::string> sentences =
        service::previewLimits(settings, {"1:MaxDevicesPerUser=3"});
    ASSERT_EQ(sentences.size(), 1U);
    EXPECT_TRUE(sentences[0].starts_with("daemon holds 3 GPUs, 2 more than 1 (MaxDevicesPerUser)"))
        << sentences[0];
}

TEST(LimitPreview, RefusesWhatIsNoUse) {
    for (const char* text : {"", "root:4711:0=GPU-a=", "0:x:0=GPU-a=", "0:4711:one=GPU-a="})
        EXPECT_THROW(static_cast<void>(service::previewOutside({}, {text})), core::Error) << text;
}

} // namespace
} // namespace genv::tests
