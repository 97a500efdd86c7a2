// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/command_watch.hpp"

#include "client/descriptor_functions.hpp"
#include "client/genvctl/common/sibling_program.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "core/base/glibc_pidfd.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>

namespace genv::ctl {

namespace {

// The descriptor of the command's pidfd in the program: the first one after the standard
// descriptors.
constexpr int commandDescriptor = STDERR_FILENO + 1;

// Replaces this process with the program. It inherits standard error and the command's pidfd, and
// nothing else: otherwise genvctl's connection to the bus would outlive it, and the command's
// variables might preload a library. It has a session of its own, so that no key of the terminal
// reaches it.
[[noreturn]] void become(char* const* words, int command) {
    sigset_t none{};
    sigemptyset(&none);
    std::array<char*, 1> noVariables{};
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fcntl(command, F_SETFD, 0) == 0 && setsid() >= 0 && chdir("/") == 0 &&
        dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
        dup2(command, commandDescriptor) >= 0 &&
        close_range(commandDescriptor + 1, UINT_MAX, 0) == 0 &&
        sigprocmask(SIG_SETMASK, &none, nullptr) == 0)
        execve(words[0], words, noVariables.data());
    _exit(EXIT_FAILURE);
}

// Starts the program from a process that ends at once, and waits for that end.
void startAside(char* const* words, int command) {
    const pid_t starting = fork();
    if (starting == 0) {
        if (fork() == 0)
            become(words, command);
        _exit(EXIT_SUCCESS);
    }
    int status = 0;
    while (starting > 0 && waitpid(starting, &status, 0) < 0 && errno == EINTR) {
    }
}

} // namespace

void watchCommand(const std::string& environment) {
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
    startAside(words.data(), command.get());
}

} // namespace genv::ctl
