// SPDX-License-Identifier: LGPL-2.1-or-later
// The preview of NonEnvProcesses= and Isolation=.
#include "core/rules/outside_preview.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::IsolationMode;
using core::OutsideProcess;
using PreviewTexts = std::vector<std::string>;

core::Settings previewSettings(bool endsOutside, IsolationMode mode) {
    core::Settings settings;
    settings.rules.nonEnvProcesses = endsOutside;
    settings.isolation.mode = mode;
    return settings;
}

const std::vector<OutsideProcess> onHeldGpu{{4711, {{0, false}}}};
const std::vector<OutsideProcess> onOthersGpus{{4711, {{0, true}, {2, false}}},
                                               {4712, {{1, true}}}};

TEST(OutsidePreview, IsEmptyIfNothingHappens) {
    EXPECT_EQ(
        core::describeOutside("bob", onOthersGpus, previewSettings(false, IsolationMode::None)),
        PreviewTexts{});
    EXPECT_EQ(core::describeOutside("bob", onHeldGpu, previewSettings(false, IsolationMode::User)),
              PreviewTexts{});
    EXPECT_EQ(core::describeOutside("bob", {}, previewSettings(true, IsolationMode::User)),
              PreviewTexts{});
}

TEST(OutsidePreview, NamesTheProcessesThatEnd) {
    EXPECT_EQ(core::describeOutside("bob", onHeldGpu, previewSettings(true, IsolationMode::None)),
              PreviewTexts{"bob runs 1 process (4711) on GPU 0 outside every environment "
                           "(NonEnvProcesses): it is ended after 30s"});
    core::Settings settings = previewSettings(true, IsolationMode::None);
    settings.grace = 5min;
    EXPECT_EQ(core::describeOutside("b\nob", onOthersGpus, settings),
              PreviewTexts{"b\\x0aob runs 2 processes (4711, 4712) on GPUs 0,1,2 outside every "
                           "environment (NonEnvProcesses): they are ended after 5min"});
    settings.dryRun = true;
    EXPECT_EQ(
        core::describeOutside("bob", std::vector<OutsideProcess>(7, onHeldGpu[0]), settings),
        PreviewTexts{"bob runs 7 processes (4711, 4711, 4711, 4711, 4711, ...) on GPU 0 outside "
                     "every environment (NonEnvProcesses): only logged (DryRun=yes)"});
}

TEST(OutsidePreview, SaysWhatTheKernelRefuses) {
    EXPECT_EQ(
        core::describeOutside("bob", onOthersGpus, previewSettings(false, IsolationMode::Watch)),
        PreviewTexts{"bob uses GPUs 0,1 without an environment that holds them (Isolation): "
                     "counted at the next open, not refused"});
    EXPECT_EQ(
        core::describeOutside("bob", onOthersGpus, previewSettings(false, IsolationMode::User)),
        PreviewTexts{"bob uses GPUs 0,1 without an environment that holds them (Isolation): "
                     "refused at the next open; the processes are ended after 30s"});
    const PreviewTexts both =
        core::describeOutside("bob", onOthersGpus, previewSettings(true, IsolationMode::User));
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[1], "bob uses GPUs 0,1 without an environment that holds them (Isolation): "
                       "refused at the next open");
}

} // namespace
} // namespace genv::tests
