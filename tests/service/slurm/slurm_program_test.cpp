// SPDX-License-Identifier: LGPL-2.1-or-later
// A run of a program, whatever the program does: it inherits nothing from this process, and it
// ends.
#include "service/slurm/slurm_program.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

namespace genv::service {
namespace {

using namespace std::chrono_literals;

SlurmProgramResult shell(const std::string& code, const SlurmProgramBounds& bounds = {}) {
    return runSlurmProgram("/bin/sh", {"-c", code}, {"LC_ALL=C"}, bounds);
}

std::string programErrorOf(const std::string& code, const SlurmProgramBounds& bounds = {}) {
    try {
        shell(code, bounds);
        return "none";
    } catch (const SlurmProgramError& error) {
        return error.what();
    }
}

TEST(SlurmProgram, GivesStatusAndAllOutput) {
    const SlurmProgramResult result = shell("echo one; echo two >&2; exit 3");
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.output, "one\ntwo\n");
}

TEST(SlurmProgram, HasNoOtherVariableAndNothingToRead) {
    ::setenv("GENV_SECRET", "1", 1);
    const SlurmProgramResult result = shell("cat; env | grep -v '^\\(PWD\\|_\\|SHLVL\\)='");
    EXPECT_EQ(result.output, "LC_ALL=C\n");
}

TEST(SlurmProgram, TakesEachArgumentAsItIs) {
    EXPECT_EQ(runSlurmProgram("/bin/echo", {"$(id)", "a b;c"}, {}, {}).output, "$(id) a b;c\n");
}

TEST(SlurmProgram, IsEndedAtItsDeadlineWithAllThatItStarted) {
    const SlurmProgramBounds bounds{300ms};
    // The children's PIDs arrive before the deadline.
    EXPECT_EQ(programErrorOf("sleep 1000 & sleep 1000", bounds), "sh did not answer in 0.3 s");
}

TEST(SlurmProgram, ThatClosesItsOutputIsEndedToo) {
    EXPECT_EQ(programErrorOf("exec >&- 2>&-; exec sleep 1000", {300ms}),
              "sh did not answer in 0.3 s");
}

TEST(SlurmProgram, LeavesNoChildBehind) {
    const SlurmProgramResult result = shell("sleep 1000 >/dev/null 2>&1 & echo $!");
    const pid_t child = std::stoi(result.output);
    for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i)
        std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(::kill(child, 0) != 0 && errno == ESRCH);
}

TEST(SlurmProgram, ThatPrintsTooMuchIsEnded) {
    EXPECT_EQ(programErrorOf("exec yes", {10s, 4096}), "sh printed more than 4 KiB");
}

TEST(SlurmProgram, ThatCrashesIsNamedWithItsSignal) {
    EXPECT_EQ(programErrorOf("kill -SEGV $$"), "sh was ended by signal 11 (Segmentation fault)");
}

TEST(SlurmProgram, ThatIsNotThereIsNamed) {
    try {
        runSlurmProgram("/nowhere/scontrol", {}, {}, {});
        FAIL();
    } catch (const SlurmProgramError& error) {
        EXPECT_STREQ(error.what(),
                     "/nowhere/scontrol cannot be started: No such file or directory");
    }
}

} // namespace
} // namespace genv::service
