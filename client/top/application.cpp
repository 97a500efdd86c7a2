// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/application.hpp"

#include "client/top/cell_text.hpp"
#include "client/top/collector.hpp"
#include "client/top/jobs_watch.hpp"
#include "client/top/request_worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace genv::top {

namespace {

// How long to wait for a running call when the program ends.
constexpr std::chrono::milliseconds endDeadline{200};

class Application {
  public:
    Application(std::unique_ptr<Screen> screen, int signals, const TopOptions& options,
                const Surroundings& surroundings)
        : screen_(std::move(screen)), signals_(signals),
          actions_(mailbox_, options.host, options.mayAskPassword),
          waits_(mailbox_, options.host, false), frame_(std::make_shared<const Frame>()),
          collector_([this, host = options.host, surroundings](int stop) {
              if (surroundings.isCluster)
                  watchCluster(mailbox_, stop);
              else
                  watchService(mailbox_, host, stop);
          }) {
        if (surroundings.hasUserBus)
            jobsWatch_.emplace([this](int stop) { watchJobs(mailbox_, stop); });
        choice_.isReadOnly = options.isReadOnly;
        choice_.gpus = options.gpus;
        choice_.mayTerminate = surroundings.mayTerminate;
        choice_.charset = surroundings.charset;
    }

    void run() {
        draw();
        while (!isOver_) {
            waitForSomething();
            takeSignals();
            takeMessages();
            if (!isLent_)
                takeKeys();
            if (!isOver_ && !isLent_)
                draw();
        }
        end();
    }

  private:
    void draw() {
        lines_ = screenPage(*frame_, choice_, screen_->size());
        screen_->draw(lines_);
    }

    void waitForSomething() {
        std::array<pollfd, 3> descriptors{pollfd{signals_, POLLIN, 0},
                                          pollfd{mailbox_.descriptor(), POLLIN, 0},
                                          pollfd{isLent_ ? -1 : STDIN_FILENO, POLLIN, 0}};
        while (poll(descriptors.data(), descriptors.size(), -1) < 0 && errno == EINTR) {
        }
        if ((descriptors[2].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
            isOver_ = true; // the terminal is gone
    }

    void takeSignals() {
        signalfd_siginfo info{};
        while (read(signals_, &info, sizeof info) == sizeof info) {
            switch (info.ssi_signo) {
            case SIGWINCH:
                if (!isLent_)
                    screen_->resize();
                break;
            case SIGTSTP:
                stopForShell();
                break;
            case SIGCONT:
                break;
            case SIGINT: // where a password is asked for it is the question's
                isOver_ = isOver_ || !isLent_;
                break;
            default:
                isOver_ = true;
            }
        }
    }

    // Stops as any program does on Ctrl-Z, after it has restored the terminal.
    void stopForShell() {
        if (!isLent_)
            screen_->suspend();
        sigset_t stop;
        sigemptyset(&stop);
        sigaddset(&stop, SIGTSTP);
        kill(getpid(), SIGTSTP);
        pthread_sigmask(SIG_UNBLOCK, &stop, nullptr); // stops here until SIGCONT
        pthread_sigmask(SIG_BLOCK, &stop, nullptr);
        if (!isLent_)
            screen_->resume();
    }

    void takeMessages() {
        for (Message& message : mailbox_.take())
            std::visit([this](auto& which) { take(which); }, message);
    }

    void take(FrameMessage& message) {
        message.frame->jobs = jobs_;
        frame_ = std::move(message.frame);
    }
    void take(JobsMessage& message) {
        jobs_ = std::move(message.jobs);
        auto frame = std::make_shared<Frame>(*frame_);
        frame->jobs = jobs_;
        frame_ = std::move(frame);
    }
    void take(NewsMessage& message) {
        choice_.message = safe(message.text, choice_.charset);
        choice_.isBadNews = message.isBad;
    }
    void take(TerminalWantedMessage& message) {
        screen_->suspend();
        isLent_ = true;
        fmt::print("genv top: {}\n", safe(message.reason, choice_.charset));
        std::fflush(stdout);
        message.released->set_value();
    }
    void take(TerminalReturnedMessage& /*message*/) {
        isLent_ = false;
        screen_->resume();
    }

    void takeKeys() {
        while (auto raw = screen_->nextKey()) {
            if (raw->line && *raw->line < lines_.size() && lines_[*raw->line].item)
                raw->key = {Key::Kind::Click, 0, lines_[*raw->line].item};
            Outcome outcome = press(choice_, *frame_, raw->key);
            if (outcome.request)
                submit(*std::move(outcome.request));
            if (outcome.quits) {
                isOver_ = true;
                return;
            }
        }
    }

    // A waiting request occupies its worker, so it gets one of its own.
    void submit(Request request) {
        choice_.isBadNews = false;
        if (!std::holds_alternative<WaitRequest>(request) &&
            !std::holds_alternative<ResumeRequest>(request)) {
            actions_.submit(std::move(request));
        } else if (waits_.isBusy()) {
            choice_.message = "There is a wait already: cancel it with \"c\" first";
            choice_.isBadNews = true;
        } else {
            waits_.submit(std::move(request));
        }
    }

    // Restores the terminal first, so that the user has it even if a call hangs.
    void end() {
        screen_.reset();
        mailbox_.take(); // a worker that wants the terminal does not get it
        actions_.stop();
        waits_.stop();
        collector_.stop();
        if (jobsWatch_)
            jobsWatch_->stop();
        const auto deadline = std::chrono::steady_clock::now() + endDeadline;
        const auto remaining = [&] {
            return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(
                                deadline - std::chrono::steady_clock::now()),
                            std::chrono::milliseconds{0});
        };
        if (!actions_.endsWithin(remaining()) || !waits_.endsWithin(remaining()) ||
            !collector_.endsWithin(remaining()) ||
            (jobsWatch_ && !jobsWatch_->endsWithin(remaining())))
            std::_Exit(EXIT_SUCCESS); // a call that hangs ends with the process
    }

    std::unique_ptr<Screen> screen_;
    int signals_;
    Mailbox mailbox_;
    RequestWorker actions_;
    RequestWorker waits_;
    Choice choice_;
    std::shared_ptr<const Frame> frame_;
    std::vector<PageLine> lines_;
    JobRows jobs_;
    bool isLent_ = false; ///< the terminal, to what asks for a password
    bool isOver_ = false;
    Background collector_; ///< these are last: they end first
    std::optional<Background> jobsWatch_;
};

} // namespace

int blockSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
        sigaddset(&signals, signal);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0 || sigprocmask(SIG_BLOCK, &signals, nullptr) < 0)
        throw std::system_error(errno, std::generic_category(), "signals");
    return descriptor;
}

void runApplication(std::unique_ptr<Screen> screen, int signals, const TopOptions& options,
                    const Surroundings& surroundings) {
    Application(std::move(screen), signals, options, surroundings).run();
}

} // namespace genv::top
