// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/attempt_command.hpp"

#include "client/search_path.hpp"
#include "core/base/glibc_pidfd.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

namespace genv::jobs {

namespace {

constexpr int notFound = 127;
constexpr int notExecutable = 126;

enum class Step { Folder, Command };

/// What the child reports if it cannot become the command.
struct Report {
    Step step = Step::Folder;
    int error = 0;
};

struct Pipe {
    client::Descriptor out;
    client::Descriptor in;
};

std::optional<Pipe> makePipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return std::nullopt;
    return Pipe{client::Descriptor(ends[0]), client::Descriptor(ends[1])};
}

std::vector<char*> wordsOf(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str())); // execvp() does not modify it
    words.push_back(nullptr);
    return words;
}

void resetSignals() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
        ::sigaction(signal, &action, nullptr);
    sigset_t none{};
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child.
[[noreturn]] void become(const AttemptOrder& order, const std::vector<char*>& words, int input,
                         int output, int reports) {
    ::setsid();
    resetSignals();
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::umask(order.umask);
    Report report{Step::Folder, 0};
    if (::chdir(order.folder.c_str()) == 0) {
        report.step = Step::Command;
        ::execvp(words.front(), words.data());
    }
    report.error = errno;
    [[maybe_unused]] const ssize_t written = ::write(reports, &report, sizeof report);
    ::_exit(notExecutable);
}

// execvp() reports a folder of PATH that may not be searched, although the command is nowhere.
bool isNowhere(const std::string& command) {
    const std::vector<std::string> folders = client::searchFolders();
    return command.find('/') == std::string::npos &&
           std::none_of(folders.begin(), folders.end(), [&](const std::string& folder) {
               return ::access((folder + '/' + command).c_str(), F_OK) == 0;
           });
}

NotRun describe(const AttemptOrder& order, const Report& report) {
    if (report.step == Step::Folder)
        return {notExecutable,
                fmt::format("cannot enter the folder \"{}\": {}", core::escaped(order.folder, 512),
                            std::strerror(report.error))};
    const std::string& command = order.command.front();
    const int error = report.error == EACCES && isNowhere(command) ? ENOENT : report.error;
    return {
        error == ENOENT ? notFound : notExecutable,
        fmt::format("cannot run \"{}\": {}", core::escaped(command, 512), std::strerror(error))};
}

// The pipe is closed by the exec.
std::optional<Report> awaitExec(const client::Descriptor& reports) {
    Report report;
    ssize_t count = 0;
    do {
        count = ::read(reports.get(), &report, sizeof report);
    } while (count < 0 && errno == EINTR);
    if (count != static_cast<ssize_t>(sizeof report))
        return std::nullopt;
    return report;
}

NotRun noChild(int error) {
    return {notExecutable, fmt::format("cannot start a process: {}", std::strerror(error))};
}

} // namespace

std::variant<RunningCommand, NotRun> startCommand(const AttemptOrder& order) {
    std::optional<Pipe> output = makePipe();
    std::optional<Pipe> reports = makePipe();
    const client::Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!output || !reports || !input.isOpen())
        return noChild(errno);
    const std::vector<char*> words = wordsOf(order.command);
    const pid_t child = ::fork();
    if (child < 0)
        return noChild(errno);
    if (child == 0)
        become(order, words, input.get(), output->in.get(), reports->in.get());
    client::Descriptor process(::pidfd_open(child, 0));
    const int error = errno;
    output->in.close();
    reports->in.close();
    const std::optional<Report> report = awaitExec(reports->out);
    if (report || !process.isOpen()) {
        ::kill(child, SIGKILL);
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
        return report ? describe(order, *report) : noChild(error);
    }
    ::fcntl(output->out.get(), F_SETFL, O_NONBLOCK);
    return RunningCommand{child, std::move(process), std::move(output->out)};
}

} // namespace genv::jobs
