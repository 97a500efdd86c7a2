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

// PF_KTHREAD is bit 21 of field 9. kthreadd and a worker of the kernel have it, PID 1 does not.
TEST(ProcStat, KnowsKernelThreadsByTheirFlag) {
    const auto isKernelThread = [](const char* text) {
        return service::parseStat(text).value().isKernelThread;
    };
    EXPECT_TRUE(isKernelThread("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0"));
    EXPECT_TRUE(
        isKernelThread("9 (kworker/0:1H-ev) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 -20 1 0 5 0"));
    EXPECT_FALSE(isKernelThread("1 (systemd) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5 0"));
    EXPECT_FALSE(isKernelThread("9 (x) S 2 1) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5 0"))
        << "whatever a process calls itself";
    EXPECT_FALSE(service::parseStat("1 (systemd) S 0 1 1 0 -1 x 0 0 0 0 0 0 0 0 20 0 1 0 5 0"));
}

TEST(ProcStatus, CountsThePidNamespacesOfAProcess) {
    EXPECT_EQ(service::countPidNamespaces("Name:\tsh\nNSpid:\t4242\nNSpgid:\t1\n"), 1U);
    EXPECT_EQ(service::countPidNamespaces("Name:\tsh\nNSpid:\t4242\t7\n"), 2U);
    EXPECT_EQ(service::countPidNamespaces("Name:\tsh\nNSpid:\t4242\t7\t1\nNSpgid:\t1\n"), 3U);
    EXPECT_EQ(service::countPidNamespaces("Name:\tsh\nPid:\t4242\n"), 1U) << "an old kernel";
}

TEST(PidfdInformation, TellsAPidFromAnotherNamespaceAndFromAnotherKindOfDescriptor) {
    EXPECT_EQ(service::parseDescriptorPid("pos:\t0\nPid:\t42\nNSpid:\t42\n"), 42);
    EXPECT_EQ(service::parseDescriptorPid("pos:\t0\nPid:\t0\nNSpid:\t0\n"), 0);
    EXPECT_EQ(service::parseDescriptorPid("pos:\t0\nPid:\t-1\n"), -1);
    EXPECT_EQ(service::parseDescriptorPid("pos:\t0\nflags:\t02\n"), std::nullopt);
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
