// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/shell/shell_code.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

namespace genv::ctl {
namespace {

// Returns the text that a shell reads from a word of its input.
std::string readBack(Shell shell, const std::string& word) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const std::string code = "printf %s " + word;
    const std::string program(nameOf(shell));
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        // Without start-up files.
        const char* quiet = shell == Shell::Bash ? "--norc" : shell == Shell::Zsh ? "-f" : "-N";
        execlp(program.c_str(), program.c_str(), quiet, "-c", code.c_str(),
               static_cast<char*>(nullptr));
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 256> buffer{};
    for (ssize_t length = 0; (length = read(ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(length));
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << program;
    return text;
}

class Quoting : public ::testing::TestWithParam<Shell> {};

TEST_P(Quoting, KeepsWhateverSomebodyChose) {
    for (const char* hostile : {"",
                                "plain",
                                "two words",
                                "a'b",
                                "'",
                                "''",
                                "$(touch /tmp/x)",
                                "`id`",
                                "a;b&c|d>e",
                                "new\nline",
                                "tab\t",
                                "\\",
                                "\\'",
                                "$HOME",
                                "${x:-y}",
                                "*",
                                "~",
                                "!!",
                                "#x",
                                "grün 木",
                                "-n",
                                "\"",
                                "\x1b[2J",
                                "'; exit 7; '",
                                "(id)",
                                "\\\\",
                                "a\\\nb",
                                "\\n",
                                "\\'; exit 7; \\'",
                                "{a,b}",
                                "$argv",
                                "%self",
                                "\n"})
        EXPECT_EQ(readBack(GetParam(), shellQuoted(GetParam(), hostile)), hostile);
}

INSTANTIATE_TEST_SUITE_P(ShellCode, Quoting,
                         ::testing::Values(Shell::Bash, Shell::Zsh, Shell::Fish),
                         [](const auto& shell) { return std::string(nameOf(shell.param)); });

TEST(ShellCode, CallsTheFunctionsOfTheShellCode) {
    ShellCode code;
    code.leave("/shims");
    code.enter("(genv) ", "/a b/shims");
    code.set(
        {{"GENV_GPUS", "2"}, {"GENV_ENVIRONMENT_NAME", "it's"}, {"GENV_GPU_MEMORY", std::nullopt}});
    code.watch("/run/genv/shell/_37", "99 5");
    code.know("99");
    const std::string expected = "__genv_restore 'GENV_ENVIRONMENT_CREATED'\n"
                                 "__genv_leave '/shims'\n"
                                 "__genv_enter '(genv) ' '/a b/shims'\n"
                                 "__genv_set 'GENV_GPUS' '2'\n"
                                 "__genv_set 'GENV_ENVIRONMENT_NAME' 'it'\\''s'\n"
                                 "__genv_unset 'GENV_GPU_MEMORY'\n"
                                 "__genv_watch '/run/genv/shell/_37' '99 5'\n"
                                 "__genv_know '99'\n";
    EXPECT_EQ(code.text(Shell::Bash), expected);
    EXPECT_EQ(code.text(Shell::Zsh), expected);
    EXPECT_NE(code.text(Shell::Fish).find("'it\\'s'"), std::string::npos);
}

TEST(ShellCode, KnowsTheShellsByName) {
    EXPECT_EQ(shellNamed("zsh"), Shell::Zsh);
    EXPECT_EQ(shellNamed("fish"), Shell::Fish);
    EXPECT_EQ(shellNamed("ksh"), std::nullopt);
    EXPECT_EQ(shellNamed(""), std::nullopt);
}

TEST(ShellCode, FailsWhenTheShellCannotBeTold) {
    ShellCode code;
    code.leave("/shims");
    EXPECT_THROW(code.send(Shell::Bash, -1), Failure);
}

} // namespace
} // namespace genv::ctl
