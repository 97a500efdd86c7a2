// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/ending_reporter.hpp"

#include "client/descriptor.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/environment/lingering.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "client/notify/gatherer.hpp"
#include "core/glibc_pidfd.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace genv::ctl {

namespace {

// The descriptor of the command's pidfd in the reporter: the first one after the standard
// descriptors.
constexpr int commandDescriptor = STDERR_FILENO + 1;

// The timeout of the last call to the service. A program that reads the command's standard error
// waits for the reporter to end.
constexpr unsigned lastQuestionSeconds = 1;

// Notices with the same cause arrive together. They are written this long after the first one.
constexpr int gatheringMilliseconds = 200;

// The notices that a user needs about a running command. The grant at its start has already been
// reported.
constexpr std::array reportedKinds{"ended",    "detached", "process-terminated", "warning",
                                   "expiring", "memory",   "device-health"};

bool isReported(const Notice& notice, const std::string& environment) {
    return notice.environment == environment &&
           std::find(reportedKinds.begin(), reportedKinds.end(), notice.kind) !=
               reportedKinds.end();
}

// Runs in the forked process. No descriptor of genvctl may stay open, or its connection to the bus
// would outlive it.
[[noreturn]] void becomeReporter(const std::string& environment, int command) {
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
        execl("/proc/self/exe", "genvctl", "run", "--id", environment.c_str(), "--report", nullptr);
    _exit(0);
}

/// Wakes the reporter when the command has ended and when the gathered notices are due.
class Wakeups {
  public:
    explicit Wakeups(int command)
        : command_(command), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
          epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        watch(command);
        watch(timer_.get());
    }

    [[nodiscard]] int descriptor() const { return epoll_.get(); }

    [[nodiscard]] bool commandHasEnded() const {
        pollfd ended{command_, POLLIN, 0};
        return poll(&ended, 1, 0) != 0;
    }

    void wakeSoon() { setTimer(gatheringMilliseconds * 1'000'000L); }
    void rest() { setTimer(0); }

  private:
    void watch(int descriptor) {
        epoll_event readable{EPOLLIN, {}};
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &readable) < 0)
            throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
    void setTimer(long nanoseconds) {
        const itimerspec once{{0, 0}, {0, nanoseconds}};
        timerfd_settime(timer_.get(), 0, &once, nullptr);
    }

    int command_;
    client::Descriptor timer_;
    client::Descriptor epoll_;
};

/// The notices about one environment that are not yet written.
class EndingReport {
  public:
    explicit EndingReport(std::string environment) : environment_(std::move(environment)) {}

    /// Returns whether the notice is to be written.
    bool take(const Notice& notice) {
        return isReported(notice, environment_) && gatherer_.add(notice, currentTime());
    }

    void write() {
        for (const notify::Message& message : gatherer_.take(currentTime())) {
            std::string text = fmt::format("{}", fmt::join(message.sentences, " "));
            if (text.ends_with('.'))
                text.pop_back();
            complain(text, message.hint);
        }
    }

  private:
    std::string environment_;
    notify::Gatherer gatherer_{false};
};

} // namespace

void startEndingReporter(const std::string& environment) {
    const client::Descriptor command(pidfd_open(getpid(), 0));
    if (command.get() < 0)
        return;
    const pid_t child = fork();
    if (child == 0)
        becomeReporter(environment, command.get());
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

void reportEndings(Context& context, const std::string& environment) {
    std::signal(SIGPIPE, SIG_IGN); // the reader of the command's standard error may be gone
    try {
        Client& client = context.client();
        client.listenForNotices(geteuid());
        Wakeups wakeups(commandDescriptor);
        EndingReport report(environment);
        while (!wakeups.commandHasEnded()) {
            const auto notice = client.nextNotice(wakeups.descriptor());
            if (notice && report.take(*notice)) {
                wakeups.wakeSoon();
            } else if (!notice && !wakeups.commandHasEnded()) {
                wakeups.rest();
                report.write();
            }
        }
        // The service sends a signal before it replies to the next call, so all notices have
        // arrived after this call. If the service does not reply in time, SIGALRM ends the
        // reporter.
        report.write();
        alarm(lastQuestionSeconds);
        static_cast<void>(client.status());
        for (const Notice& notice : client.takeNotices())
            report.take(notice);
        report.write();
        warnOnceSettled(client, environment); // children of the command may still use its GPUs
    } catch (const std::exception&) {
        // Failures of the service or of the bus are not reported in the command's output.
    }
}

} // namespace genv::ctl
