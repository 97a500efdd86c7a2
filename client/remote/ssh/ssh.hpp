// SPDX-License-Identifier: LGPL-2.1-or-later
// OpenSSH's client, as it is on this machine and as the person has configured it (keys, ProxyJump,
// aliases): how it is called, and one that runs with its input and output here. Only one thing is
// not left to the configuration: unless there is a person at the terminal for it, ssh asks for no
// password (BatchMode).
#pragma once

#include "client/descriptor.hpp"
#include "client/remote/ssh/host.hpp"

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::remote {

/// A word as the shell of the far side takes it, whatever is in it: for sh, bash, zsh, dash and
/// fish.
std::string quotedForShell(std::string_view word);
/// A command line for the far side's shell from its words.
std::string commandLine(const std::vector<std::string>& words);

/// ssh's command line that runs `farCommand`, which is for the far side's shell, without a
/// terminal there and without asking here.
std::vector<std::string> quietSsh(const Host& host, const std::string& farCommand);
/// The same with a terminal on the far side, for a person at this one, whom ssh may ask.
std::vector<std::string> terminalSsh(const Host& host, const std::string& farCommand);

/// The exit status of an ssh that has itself failed.
inline constexpr int sshFailed = 255;

/// Ends running ssh from another thread. Outlives what it is given to.
class Cancellation {
  public:
    Cancellation() = default;
    Cancellation(const Cancellation&) = delete;
    Cancellation& operator=(const Cancellation&) = delete;

    /// Ends every ssh that is registered, and from now on each as soon as it is.
    void cancel();
    [[nodiscard]] bool isCancelled() const;

  private:
    friend class SshChild;
    void add(int pidfd);
    void remove(int pidfd);

    mutable std::mutex mutex_; ///< guards what follows
    bool cancelled_ = false;
    std::set<int> pidfds_;
};

/// How long an ssh may run, and who may end it before.
struct SshBounds {
    std::optional<std::chrono::milliseconds> deadline; ///< from its start; unset: for ever
    Cancellation* cancellation = nullptr;              ///< may be null
};

/// What is left of bounds for what comes second, where the first began then.
SshBounds boundsLeft(const SshBounds& bounds, std::chrono::steady_clock::time_point began);

/// A running ssh. What it says on standard error is kept, the last 4 KiB of it. Used by the thread
/// that made it; when this goes, or that thread ends, ssh is ended. It has no terminal: neither it
/// nor an ssh that it starts for a jump host can ask anything.
class SshChild {
  public:
    /// Starts ssh. Its standard input and output are these descriptors, which stay the caller's;
    /// with `accepts`, they are instead the first connection that `input`, a listening Unix socket,
    /// gets from this process, which is to make it at once: until its first byte has come, neither
    /// the bounds nor kill() end what becomes ssh, and the destructor takes a second for that.
    /// Throws std::system_error.
    SshChild(const std::vector<std::string>& words, int input, int output, const SshBounds& bounds,
             bool accepts = false);
    SshChild(const SshChild&) = delete;
    SshChild& operator=(const SshChild&) = delete;
    ~SshChild();

    /// Waits for its end and gives its exit status: the far command's, or sshFailed; 128 + N where
    /// the signal N ended it.
    int wait();
    /// Whether it has ended, or does within this time.
    bool endsWithin(std::chrono::milliseconds time);
    /// Whether it is the deadline that ended it. After wait().
    [[nodiscard]] bool timedOut() const noexcept { return timedOut_; }
    /// What it has said on standard error so far, as it came.
    const std::string& messages();
    /// Readable when it says more, and when it will not any more. Who waits for anything else of it
    /// takes its messages() meanwhile: it could wait for room for them.
    [[nodiscard]] int messagesDescriptor() const noexcept { return errors_; }
    /// Ends it.
    void kill();

  private:
    void drain();
    void reap();

    Cancellation* cancellation_;
    pid_t pid_ = -1;
    int pidfd_ = -1;
    int errors_ = -1; ///< read end of its standard error
    std::optional<int> status_;
    bool timedOut_ = false;
    std::string messages_;
};

/// Foreign text as one line for a message: its last line that says something, safe to print and at
/// most 300 characters; empty where there is none. For what ssh and far commands say.
std::string lastLine(std::string_view text);

} // namespace genv::remote
