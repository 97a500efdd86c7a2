// SPDX-License-Identifier: LGPL-2.1-or-later
// The claim of a process in its variables, and its interpretation.
#include "service/processes/proc_text.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace genv::tests {
namespace {

using service::parseEnvironmentHint;

/// Returns the variables in the format of /proc/PID/environ.
std::string variables(std::initializer_list<const char*> entries) {
    std::string text;
    for (const char* entry : entries) {
        text += entry;
        text += '\0';
    }
    return text;
}

TEST(EnvironmentHint, IsAnIdWithTheStampOfItsEnvironment) {
    EXPECT_EQ(parseEnvironmentHint(variables({"PATH=/usr/bin", "GENV_ENVIRONMENT_ID=10",
                                              "GENV_ENVIRONMENT_CREATED=1600000000000007"})),
              (core::EnvironmentHint{"10", core::fromMicroseconds(1'600'000'000'000'007)}));
    EXPECT_EQ(parseEnvironmentHint(
                  variables({"GENV_ENVIRONMENT_CREATED=7", "A=b", "GENV_ENVIRONMENT_ID=10"})),
              (core::EnvironmentHint{"10", core::fromMicroseconds(7)}))
        << "in any order";
}

TEST(EnvironmentHint, MayLackTheStamp) {
    const core::EnvironmentHint unstamped{"10", std::nullopt};
    EXPECT_EQ(parseEnvironmentHint(variables({"GENV_ENVIRONMENT_ID=10"})), unstamped);
    EXPECT_EQ(
        parseEnvironmentHint(variables({"GENV_ENVIRONMENT_ID=10", "GENV_ENVIRONMENT_CREATED="})),
        unstamped)
        << "as ${GENV_ENVIRONMENT_CREATED} is where there is none";
    EXPECT_EQ(
        parseEnvironmentHint(variables({"GENV_ENVIRONMENT_ID=10", "XGENV_ENVIRONMENT_CREATED=7"})),
        unstamped);
}

TEST(EnvironmentHint, IsNoneWithoutAnIdOrWithWhatIsNoStamp) {
    EXPECT_EQ(parseEnvironmentHint(""), std::nullopt);
    EXPECT_EQ(parseEnvironmentHint(variables({"GENV_ENVIRONMENT_CREATED=7"})), std::nullopt);
    EXPECT_EQ(parseEnvironmentHint(variables({"XGENV_ENVIRONMENT_ID=10"})), std::nullopt);
    const std::string tooLong = "GENV_ENVIRONMENT_ID=" + std::string(65, 'a');
    EXPECT_EQ(parseEnvironmentHint(variables({tooLong.c_str()})), std::nullopt);
    for (const char* stamp : {"x", "7x", " 7", "-7", "+7", "7.0", "0x7", "18446744073709551616"}) {
        const std::string entry = std::string("GENV_ENVIRONMENT_CREATED=") + stamp;
        EXPECT_EQ(parseEnvironmentHint(variables({"GENV_ENVIRONMENT_ID=10", entry.c_str()})),
                  std::nullopt)
            << stamp;
    }
}

TEST(EnvironmentHint, IsTheFirstOfSeveralAsForTheProgramItself) {
    EXPECT_EQ(
        parseEnvironmentHint(variables({"GENV_ENVIRONMENT_ID=10", "GENV_ENVIRONMENT_CREATED=7",
                                        "GENV_ENVIRONMENT_ID=20", "GENV_ENVIRONMENT_CREATED=8"})),
        (core::EnvironmentHint{"10", core::fromMicroseconds(7)}));
}

TEST(ClockTicks, AreAsManyInASecondAsTheCoreCounts) {
    EXPECT_EQ(::sysconf(_SC_CLK_TCK), static_cast<long>(core::clockTicksPerSecond));
}

} // namespace
} // namespace genv::tests
