// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/command_watch.hpp"

#include "client/descriptor.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "core/glibc_pidfd.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

namespace genv::ctl {

namespace {

// The descriptor of the command's pidfd in the program: the first one after the standard
// descriptors.
constexpr int commandDescriptor = STDERR_FILENO + 1;

// Runs in the forked process. No descriptor of genvctl may stay open, or its connection to the bus
// would outlive it.
[[noreturn]] void becomeWatch(const std::array<char*, 6>& words, int command) {
    if (setsid() < 0 || fork() != 0)
        _exit(0); // the command must not have a child that it did not start
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (command == commandDescriptor)
        fcntl(command, F_SETFD, 0);
    else
        dup2(command, commandDescriptor);
    close_range(commandDescriptor + 1, ~0U, 0);
    sigset_t none{};
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (chdir("/") == 0)
        execv(words.front(), words.data());
    _exit(0);
}

} // namespace

void startCommandWatch(const std::string& environment) {
    std::string program = siblingPath({"genv-watch", GENV_WATCH_PATH, "The watcher", "genv"});
    const client::Descriptor command(pidfd_open(getpid(), 0));
    auto file = statusFile(environment);
    const auto line = firstStatusLine(environment);
    const auto space = line ? line->find(' ') : std::string::npos;
    if (command.get() < 0 || !file || space == std::string::npos)
        return;
    std::string id = environment;
    std::string sequence = line->substr(0, space);
    std::string start = line->substr(space + 1);
    const std::array<char*, 6> words{program.data(),  file->data(), id.data(),
                                     sequence.data(), start.data(), nullptr};
    const pid_t child = fork();
    if (child == 0)
        becomeWatch(words, command.get());
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

} // namespace genv::ctl
