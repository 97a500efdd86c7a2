// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/runner/supervision.hpp"

#include "core/base/glibc_pidfd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace genv::jobs {

namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

sigset_t takenSignals() {
    sigset_t set{};
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGCHLD})
        sigdelset(&set, own);
    return set;
}

int millisecondsUntil(const Deadline& deadline) {
    if (!deadline)
        return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool hasPassed(const Deadline& deadline) {
    return deadline && *deadline <= Clock::now();
}

class Supervision {
  public:
    Supervision(RunningCommand command, Output& output, watch::StatusWatch* watch,
                std::chrono::milliseconds killAfter)
        : killAfter_(killAfter), command_(std::move(command)), output_(output), watch_(watch),
          manager_(::getppid()) {
        const sigset_t set = takenSignals();
        signals_ = client::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    Supervised run() {
        reportChanges();
        while (!turn()) {
        }
        moveOutput(drainLimit());
        reportChanges();
        reap();
        return std::move(result_);
    }

  private:
    // Waits for what comes next. Returns whether the command has ended.
    bool turn() {
        std::array<pollfd, 4> descriptors{
            pollfd{command_.process.get(), POLLIN, 0}, pollfd{command_.output.get(), POLLIN, 0},
            pollfd{signals_.get(), POLLIN, 0},
            pollfd{watch_ != nullptr && !reportAt_ ? watch_->descriptor() : -1, POLLIN, 0}};
        const Deadline next = killAt_ && reportAt_ ? std::min(*killAt_, *reportAt_)
                              : killAt_            ? killAt_
                                                   : reportAt_;
        if (::poll(descriptors.data(), descriptors.size(), millisecondsUntil(next)) < 0)
            return false;
        if (descriptors[1].revents != 0)
            moveOutput(buffer_.size());
        if (descriptors[2].revents != 0)
            takeSignals();
        if (descriptors[3].revents != 0) {
            watch_->drain();
            reportAt_ = Clock::now() + std::chrono::milliseconds(watch::completionMilliseconds);
        }
        if (hasPassed(reportAt_))
            reportChanges();
        if (hasPassed(killAt_)) {
            killAt_.reset();
            send(SIGKILL);
        }
        return descriptors[0].revents != 0;
    }

    // Processes that the command leaves behind may write on, so there is a limit.
    std::size_t drainLimit() const {
        const int size = ::fcntl(command_.output.get(), F_GETPIPE_SZ);
        return size > 0 ? static_cast<std::size_t>(size) : 0;
    }

    void moveOutput(std::size_t limit) {
        while (limit > 0 && command_.output.isOpen()) {
            const ssize_t count =
                ::read(command_.output.get(), buffer_.data(), std::min(limit, buffer_.size()));
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0 && errno == EAGAIN)
                return;
            if (count <= 0) {
                command_.output.close();
                return;
            }
            const auto length = static_cast<std::size_t>(count);
            output_.write({buffer_.data(), length});
            limit -= length;
        }
    }

    void takeSignals() {
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            const bool isManagers = info.ssi_pid == static_cast<std::uint32_t>(manager_);
            if (isManagers && info.ssi_signo == SIGTERM && !result_.wasStopped) {
                result_.wasStopped = true;
                killAt_ = Clock::now() + killAfter_;
            } else if (!isManagers && info.ssi_pid != 0) {
                send(static_cast<int>(info.ssi_signo));
            }
        }
    }

    void send(int signal) const { ::pidfd_send_signal(command_.process.get(), signal, nullptr, 0); }

    void reportChanges() {
        reportAt_.reset();
        if (watch_ == nullptr)
            return;
        watch_->follow();
        const bool goesOn =
            watch_->report([&](std::string_view id, const watch::Sentence& sentence) {
                result_.notice = sentence.text;
                output_.note(fmt::format("environment {}: {}", id, sentence.text));
                if (const std::string_view advice = watch::adviceOn(sentence.text); !advice.empty())
                    output_.note(advice);
            });
        if (!goesOn)
            watch_ = nullptr;
    }

    void reap() {
        int status = 0;
        while (::waitpid(command_.pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (WIFSIGNALED(status))
            result_.signal = WTERMSIG(status);
        else
            result_.status = WEXITSTATUS(status);
    }

    const std::chrono::milliseconds killAfter_;
    RunningCommand command_;
    Output& output_;
    watch::StatusWatch* watch_;
    const pid_t manager_;
    client::Descriptor signals_;
    Deadline killAt_;
    Deadline reportAt_; ///< a change was seen, and is complete by then
    Supervised result_;
    std::array<char, 65536> buffer_; // NOLINT(cppcoreguidelines-pro-type-member-init)
};

} // namespace

void blockSignals() {
    const sigset_t set = takenSignals();
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

bool wasStoppedBefore() {
    sigset_t stop{};
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    const timespec now{};
    return ::sigtimedwait(&stop, nullptr, &now) == SIGTERM;
}

Supervised superviseCommand(RunningCommand command, Output& output, watch::StatusWatch* watch,
                            std::chrono::milliseconds killAfter) {
    return Supervision(std::move(command), output, watch, killAfter).run();
}

} // namespace genv::jobs
