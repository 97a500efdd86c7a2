// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/ssh/ssh.hpp"

#include "core/base/glibc_pidfd.hpp"
#include "core/base/parent_end.hpp"
#include "core/base/text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace genv::remote {

namespace {

constexpr std::size_t maxMessagesSize = 4096;
constexpr std::size_t maxLineLength = 300;
constexpr int signalled = 128;

std::vector<std::string> ssh(const Host& host, std::vector<std::string> options,
                             const std::string& farCommand) {
    std::vector<std::string> words{"ssh"};
    words.insert(words.end(), options.begin(), options.end());
    // A RemoteCommand in the user's configuration would conflict with the command given here.
    words.insert(words.end(), {"-o", "RemoteCommand=none"});
    if (host.port)
        words.insert(words.end(), {"-p", std::to_string(*host.port)});
    if (host.user)
        words.insert(words.end(), {"-l", *host.user});
    words.insert(words.end(), {"--", host.name, farCommand});
    return words;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    result.reserve(words.size() + 1);
    for (const std::string& word : words)
        result.push_back(const_cast<char*>(word.c_str())); // exec does not modify it
    result.push_back(nullptr);
    return result;
}

// An ssh that this one starts for a jump host must not display a prompt either.
std::vector<std::string> environmentWithoutQuestions() {
    std::vector<std::string> variables;
    constexpr const char* name = "SSH_ASKPASS_REQUIRE=";
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (std::strncmp(*variable, name, std::strlen(name)) != 0)
            variables.emplace_back(*variable);
    }
    variables.push_back(std::string(name) + "never");
    return variables;
}

/// The data for the child, prepared before the fork. After the fork, only async-signal-safe
/// functions may be called, because another thread may have held any lock.
struct Start {
    std::vector<char*> words;
    std::vector<char*> variables;
    int input;
    int output;
    int errors;
    bool accepts;
    pid_t parent;
    itimerval deadline;
};

// Returns when the first byte has arrived. sd_bus_start(3) has then finished, and a later end of
// the connection is noticed by reading.
void awaitFirstByte(int connection) {
    pollfd first{connection, POLLIN, 0};
    while (poll(&first, 1, -1) < 0 && errno == EINTR) {
    }
}

// Accepts the first connection from the parent, and closes connections from any other process.
int acceptParent(int listening, pid_t parent) {
    for (;;) {
        const int connection = accept(listening, nullptr, nullptr);
        if (connection < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return -1;
        }
        ucred peer{};
        socklen_t size = sizeof peer;
        if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
            peer.pid == parent) {
            awaitFirstByte(connection);
            return connection;
        }
        close(connection);
    }
}

/// Blocks all signals in this thread. A process that is forked meanwhile starts with blocked
/// signals as well.
class HeldSignals {
  public:
    HeldSignals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;
    ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

// Starts with all signals blocked. A signal to end stays pending until the child has its
// connection. Otherwise, the parent's attempt to connect would fail, and sdbus-c++ 1.2 would then
// leak its sd_bus.
[[noreturn]] void become(const Start& start) {
    // The child ends with the thread that started it, even if it waits for a host that hangs.
    if (!core::endWithParent(start.parent, SIGKILL))
        _exit(sshFailed);
    setsid(); // without a terminal for prompts, and without Ctrl-C, which is for the parent
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM, SIGCHLD})
        ::signal(signal, SIG_DFL);
    // The kernel ends the child at its deadline, whatever other processes wait for.
    setitimer(ITIMER_REAL, &start.deadline, nullptr);
    const int input = start.accepts ? acceptParent(start.input, start.parent) : start.input;
    const int output = start.accepts ? input : start.output;
    // First duplicates above the standard descriptors, because each of these may be one of them.
    const int in = fcntl(input, F_DUPFD, STDERR_FILENO + 1);
    const int out = fcntl(output, F_DUPFD, STDERR_FILENO + 1);
    const int err = fcntl(start.errors, F_DUPFD, STDERR_FILENO + 1);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(sshFailed);
    for (const int copy : {in, out, err})
        close(copy);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // to disconnect properly
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(start.words.front(), start.words.data(), start.variables.data());
    const char* why = strerrordesc_np(errno);
    dprintf(STDERR_FILENO, "ssh cannot be run: %s\n", why != nullptr ? why : "");
    _exit(sshFailed);
}

pid_t forkToBecome(const Start& start) {
    const HeldSignals held;
    const pid_t pid = fork();
    if (pid == 0)
        become(start);
    return pid;
}

itimerval timer(const std::optional<std::chrono::milliseconds>& deadline) {
    itimerval value{};
    if (deadline) {
        // 0 would disable the timer.
        const auto time = std::max(*deadline, std::chrono::milliseconds{1});
        value.it_value.tv_sec = time.count() / 1000;
        value.it_value.tv_usec = time.count() % 1000 * 1000;
    }
    return value;
}

[[noreturn]] void throwErrno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

std::string quotedForShell(std::string_view word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:@+%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return std::string(word);
    std::string quoted = "'";
    for (const char c : word) {
        // fish has escapes within single quotes and other shells have not, so these two characters
        // are put outside the quotes.
        if (c == '\'' || c == '\\')
            quoted += std::string("'\\") + c + "'";
        else
            quoted += c;
    }
    return quoted + '\'';
}

std::string commandLine(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty())
            line += ' ';
        line += quotedForShell(word);
    }
    return line;
}

std::vector<std::string> quietSsh(const Host& host, const std::string& farCommand) {
    // This ssh may use an existing shared connection, but must not become a master on which others
    // depend.
    return ssh(host, {"-x", "-T", "-o", "BatchMode=yes", "-o", "ControlMaster=no"}, farCommand);
}

std::vector<std::string> terminalSsh(const Host& host, const std::string& farCommand) {
    return ssh(host, {"-t"}, farCommand);
}

void Cancellation::cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const int pidfd : pidfds_)
        pidfd_send_signal(pidfd, SIGTERM, nullptr, 0);
}

bool Cancellation::isCancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
}

void Cancellation::add(int pidfd) {
    const std::lock_guard lock(mutex_);
    pidfds_.insert(pidfd);
    if (cancelled_)
        pidfd_send_signal(pidfd, SIGTERM, nullptr, 0);
}

void Cancellation::remove(int pidfd) {
    const std::lock_guard lock(mutex_);
    pidfds_.erase(pidfd);
}

SshBounds remainingBounds(const SshBounds& bounds, std::chrono::steady_clock::time_point began) {
    SshBounds remaining = bounds;
    if (bounds.deadline) {
        const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now() - began);
        remaining.deadline = std::max(*bounds.deadline - passed, std::chrono::milliseconds{1});
    }
    return remaining;
}

SshChild::SshChild(const std::vector<std::string>& words, int input, int output,
                   const SshBounds& bounds, bool accepts)
    : cancellation_(bounds.cancellation) {
    const std::vector<std::string> variables = environmentWithoutQuestions();
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) < 0)
        throwErrno("pipe");
    const client::Descriptor writeEnd(pipe[1]);
    errors_ = pipe[0];
    fcntl(errors_, F_SETFL, O_NONBLOCK);
    const Start start{pointers(words), pointers(variables),   input,
                      output,          writeEnd.get(),        accepts,
                      getpid(),        timer(bounds.deadline)};
    pid_ = forkToBecome(start);
    if (pid_ > 0)
        pidfd_ = pidfd_open(pid_, 0);
    if (pidfd_ < 0) {
        const int error = errno;
        close(errors_);
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        throw std::system_error(error, std::generic_category(), "ssh cannot be started");
    }
    if (cancellation_ != nullptr)
        cancellation_->add(pidfd_);
}

SshChild::~SshChild() {
    if (!status_) {
        kill();
        if (!endsWithin(std::chrono::seconds{1}))
            pidfd_send_signal(pidfd_, SIGKILL, nullptr, 0);
        wait();
    }
    if (cancellation_ != nullptr)
        cancellation_->remove(pidfd_);
    close(pidfd_);
    close(errors_);
}

int SshChild::wait() {
    bool speaks = true;
    while (!status_) {
        std::array<pollfd, 2> watched{pollfd{pidfd_, POLLIN, 0},
                                      pollfd{speaks ? errors_ : -1, POLLIN, 0}};
        poll(watched.data(), watched.size(), -1);
        drain(); // it would block if its pipe for messages were full
        speaks = speaks && (watched[1].revents & (POLLHUP | POLLERR)) == 0;
        if (watched[0].revents != 0)
            reap();
    }
    drain();
    return *status_;
}

bool SshChild::endsWithin(std::chrono::milliseconds time) {
    pollfd watched{pidfd_, POLLIN, 0};
    return status_ || poll(&watched, 1, static_cast<int>(time.count())) > 0;
}

void SshChild::reap() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_)
        status = W_EXITCODE(sshFailed, 0);
    timedOut_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    status_ = WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status);
}

const std::string& SshChild::messages() {
    drain();
    return messages_;
}

void SshChild::kill() {
    // SIGTERM lets ssh disconnect properly and end its process for a jump host.
    pidfd_send_signal(pidfd_, SIGTERM, nullptr, 0);
}

void SshChild::drain() {
    std::array<char, 4096> part{};
    // At most the size of a pipe, so that a program that prints without end does not block this
    // loop.
    for (int parts = 0; parts < 32; ++parts) {
        const ssize_t count = read(errors_, part.data(), part.size());
        if (count <= 0)
            return;
        messages_.append(part.data(), static_cast<std::size_t>(count));
        if (messages_.size() > maxMessagesSize)
            messages_.erase(0, messages_.size() - maxMessagesSize);
    }
}

std::string lastLine(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t last = text.find_last_not_of(blank);
    if (last == std::string_view::npos)
        return {};
    text = text.substr(0, last + 1);
    if (const std::size_t end = text.rfind('\n'); end != std::string_view::npos)
        text.remove_prefix(end + 1);
    text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
    return core::printable(text.substr(0, maxLineLength));
}

} // namespace genv::remote
