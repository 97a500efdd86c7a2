// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/shell_code.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

namespace genv::ctl {
namespace {

// What bash takes a text for that stands as a word in its input.
std::string readBack(const std::string& word) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const std::string code = "printf %s " + word;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/bin/bash", "bash", "-c", code.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 256> buffer{};
    for (ssize_t length = 0; (length = read(ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(length));
    close(ends[0]);
    return text;
}

TEST(ShellCode, QuotesWhateverSomebodyChose) {
    for (const char* hostile :
         {"",        "plain",     "two words",   "a'b",   "'",  "''",      "$(touch /tmp/x)",
          "`id`",    "a;b&c|d>e", "new\nline",   "tab\t", "\\", "\\'",     "$HOME",
          "${x:-y}", "*",         "~",           "!!",    "#x", "grün 木", "-n",
          "\"",      "\x1b[2J",   "'; exit 7; '"})
        EXPECT_EQ(readBack(shellQuoted(hostile)), hostile);
}

TEST(ShellCode, CallsTheFunctionsOfTheShellCode) {
    ShellCode code;
    code.leave("/shims");
    code.enter("(genv) ", "/a b/shims");
    code.set(
        {{"GENV_GPUS", "2"}, {"GENV_ENVIRONMENT_NAME", "it's"}, {"GENV_GPU_MEMORY", std::nullopt}});
    EXPECT_EQ(code.text(), "__genv_leave '/shims'\n"
                           "__genv_enter '(genv) ' '/a b/shims'\n"
                           "__genv_set 'GENV_GPUS' '2'\n"
                           "__genv_set 'GENV_ENVIRONMENT_NAME' 'it'\\''s'\n"
                           "__genv_unset 'GENV_GPU_MEMORY'\n");
}

TEST(ShellCode, FailsWhenTheShellCannotBeTold) {
    ShellCode code;
    code.leave("/shims");
    EXPECT_THROW(code.send(-1), Failure);
}

} // namespace
} // namespace genv::ctl
