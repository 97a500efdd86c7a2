// SPDX-License-Identifier: LGPL-2.1-or-later
// The messages of a genvctl that was built without optional parts, as this program is.
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/options/monitor_options.hpp"
#include "client/genvctl/shell/variables.hpp"

#include <gtest/gtest.h>

namespace genv::tests {

namespace {

template <typename Function>
void expectRefused(Function function, const std::string& sentence, const std::string& option) {
    try {
        function();
        FAIL() << "nothing was refused";
    } catch (const ctl::Failure& failure) {
        EXPECT_EQ(failure.status(), ctl::ExitStatus::Failed);
        EXPECT_EQ(failure.what(), sentence);
        EXPECT_NE(failure.hint().find(option), std::string::npos) << failure.hint();
    }
}

} // namespace

TEST(LeftOut, TheExporterIsSaidToBeNoPartOfThisBuild) {
    expectRefused([] { ctl::becomeExporter({}, {}); },
                  "this build of genv has no exporter (genv-monitor)", "-DGENV_WITH_MONITOR=ON");
}

TEST(LeftOut, TheNvmlFilterIsSaidToBeNoPartOfThisBuild) {
    expectRefused([] { static_cast<void>(ctl::nvmlFilterVariable()); },
                  "this build of genv has no NVML filter", "-DGENV_WITH_SHIMS=ON");
}

} // namespace genv::tests
