// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs OpenSSH's client as installed on this machine and configured by the user (keys, ProxyJump,
// aliases): its command line, and a child process with its input and output. Only one setting is
// fixed: unless a user is at the terminal for it, ssh asks for no password (BatchMode).
#pragma once

#include "client/descriptor_functions.hpp"
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

/// Quotes a word for the remote shell, whatever it contains: sh, bash, zsh, dash or fish.
std::string quotedForShell(std::string_view word);
/// Joins words to a command line for the remote shell.
std::string commandLine(const std::vector<std::string>& words);

/// Returns ssh's command line to run `farCommand`, a command line for the remote shell, without a
/// remote terminal and without prompts here.
std::vector<std::string> quietSsh(const Host& host, const std::string& farCommand);
/// The same with a remote terminal, for a user at this terminal, who may be prompted.
std::vector<std::string> terminalSsh(const Host& host, const std::string& farCommand);

/// The exit status of an ssh that has failed itself.
inline constexpr int sshFailed = 255;

/// Ends running ssh processes from another thread. Must outlive the objects that use it.
class Cancellation {
  public:
    Cancellation() = default;
    Cancellation(const Cancellation&) = delete;
    Cancellation& operator=(const Cancellation&) = delete;

    /// Ends every registered ssh, and from now on each one as soon as it is registered.
    void cancel();
    [[nodiscard]] bool isCancelled() const;

  private:
    friend class SshChild;
    void add(int pidfd);
    void remove(int pidfd);

    mutable std::mutex mutex_; ///< guards the members below
    bool cancelled_ = false;
    std::set<int> pidfds_;
};

/// The maximum duration of an ssh, and an object that can end it earlier.
struct SshBounds {
    std::optional<std::chrono::milliseconds> deadline; ///< from its start; unset: no limit
    Cancellation* cancellation = nullptr;              ///< may be null
};

/// Returns the rest of the bounds for a second ssh, if the first one began at `began`.
SshBounds remainingBounds(const SshBounds& bounds, std::chrono::steady_clock::time_point began);

/// A running ssh. The last 4 KiB of its standard error are kept. For use by the thread that created
/// it: ssh ends when this object is destroyed or when that thread ends. It has no terminal, so
/// neither it nor an ssh that it starts for a jump host can display a prompt.
class SshChild {
  public:
    /// Starts ssh. `input` and `output` become its standard input and output and still belong to
    /// the caller. With `accepts`, `input` is a listening Unix socket instead, and ssh uses the
    /// first connection from this process, which must connect at once. Until the first byte has
    /// arrived on it, neither the bounds nor kill() end the future ssh process, and the destructor
    /// takes one second to do so. Throws std::system_error.
    SshChild(const std::vector<std::string>& words, int input, int output, const SshBounds& bounds,
             bool accepts = false);
    SshChild(const SshChild&) = delete;
    SshChild& operator=(const SshChild&) = delete;
    ~SshChild();

    /// Waits for the end of ssh and returns its exit status: that of the remote command, or
    /// sshFailed, or 128 + N if signal N ended it.
    int wait();
    /// Whether ssh has ended, or ends within this time.
    bool endsWithin(std::chrono::milliseconds time);
    /// Whether the deadline has ended ssh. Valid after wait().
    [[nodiscard]] bool timedOut() const noexcept { return timedOut_; }
    /// Returns its standard error so far, unchanged.
    const std::string& messages();
    /// Readable when ssh prints more messages, and at their end. Code that waits for anything else
    /// from ssh must call messages() meanwhile, because ssh blocks if its pipe is full.
    [[nodiscard]] int messagesDescriptor() const noexcept { return errors_; }
    /// Ends ssh.
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

/// Returns foreign text as one line for a message: its last non-empty line, safe to print and at
/// most 300 characters long. Empty if there is none. For messages of ssh and of remote commands.
std::string lastLine(std::string_view text);

} // namespace genv::remote
