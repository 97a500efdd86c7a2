// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-notify: shows the user who runs it what happens to their environments, as desktop
// notifications or on the terminal.
#include "client/loop.hpp"
#include "client/notify/desktop.hpp"
#include "client/notify/gatherer.hpp"
#include "client/notify/service_link.hpp"
#include "client/notify/terminal.hpp"
#include "core/command_line/help_formatter.hpp"
#include "core/command_line/parsing.hpp"
#include "core/text.hpp"
#include "genv/error.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::notify {

namespace {

using event::check;

constexpr std::chrono::milliseconds burst{250};
constexpr int statusNoService = 6;

core::WallTime now() {
    return std::chrono::time_point_cast<core::WallTime::duration>(std::chrono::system_clock::now());
}

/// Receives notices from the service and passes messages on, one burst at a time.
class Agent {
  public:
    using Show = std::function<void(std::vector<Message>)>;

    Agent(bool repeats, Show show)
        : gatherer_(repeats), show_(std::move(show)), loop_(event::makeLoop()),
          burst_(loop_.get(), [this] { showAll(); }),
          link_(loop_.get(), [this](const Notice& notice) {
              if (gatherer_.add(notice, now()))
                  burst_.start(burst);
          }) {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP})
            check(sd_event_add_signal(loop_.get(), nullptr, signal | SD_EVENT_SIGNAL_PROCMASK,
                                      &Agent::onSignal, this),
                  "a signal");
    }

    [[nodiscard]] sd_event* loop() const { return loop_.get(); }
    ServiceLink& link() { return link_; }
    Gatherer& gatherer() { return gatherer_; }
    void end(int status) {
        if (!status_)
            status_ = status;
    }

    int run() {
        while (!status_) {
            const bool isPending = check(sd_event_prepare(loop_.get()), "the loop") > 0;
            if (!isPending) {
                const bool waited = link_.wait(sd_event_get_fd(loop_.get()));
                constexpr auto untilSomething = static_cast<std::uint64_t>(-1);
                if (check(sd_event_wait(loop_.get(), waited ? 0 : untilSomething), "the loop") == 0)
                    continue;
            }
            check(sd_event_dispatch(loop_.get()), "the loop");
        }
        return *status_;
    }

  private:
    static int onSignal(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/,
                        void* agent) {
        static_cast<Agent*>(agent)->end(EXIT_SUCCESS);
        return 0;
    }

    void showAll() { show_(gatherer_.take(now())); }

    Gatherer gatherer_;
    Show show_;
    event::EventLoop loop_;
    std::optional<int> status_;
    event::Timer burst_;
    ServiceLink link_;
};

int runOnTerminal() {
    std::optional<Agent> agent;
    agent.emplace(false, [&agent](const std::vector<Message>& messages) {
        std::string text;
        for (const Message& message : messages)
            text += terminalText(message, now(), currentStyle());
        if (!writeOut(text))
            agent->end(errno == EPIPE || errno == EIO ? EXIT_SUCCESS : EXIT_FAILURE);
    });
    agent->link().connect();
    // epoll always reports a hang-up. A file has none.
    sd_event_add_io(
        agent->loop(), nullptr, STDOUT_FILENO, 0,
        [](sd_event_source*, int, std::uint32_t, void* data) {
            static_cast<Agent*>(data)->end(EXIT_SUCCESS);
            return 0;
        },
        &*agent);
    return agent->run();
}

int runOnDesktop() {
    std::optional<Desktop> desktop;
    Agent agent(true,
                [&desktop](std::vector<Message> messages) { desktop->show(std::move(messages)); });
    desktop.emplace(
        agent.loop(),
        Desktop::Listener{[&](const std::string& subject) { agent.gatherer().forget(subject); },
                          [&](const Action& action, const std::string& subject) {
                              agent.gatherer().forget(subject);
                              return carryOut(action, subject);
                          },
                          [&](int status) { agent.end(status); }});
    try {
        desktop->connect();
    } catch (const std::exception& error) {
        std::fprintf(stderr,
                     "genv-notify: %s\nStart it in a desktop session. \"genv-notify --terminal\" "
                     "prints messages here.\n",
                     core::escaped(error.what(), 256).c_str());
        return EXIT_FAILURE;
    }
    agent.link().connectOrRetry();
    const int status = agent.run();
    desktop.reset(); // must be destroyed before its event loop
    return status;
}

/// Returns an exit status, or nothing if the program should run.
std::optional<int> readOptions(int count, char** arguments, bool& onTerminal) {
    CLI::App app("Show desktop notifications about your GPU environments", "genv-notify");
    app.formatter(core::helpFormatter());
    app.add_flag_callback(
           "--terminal", [&] { onTerminal = true; }, "Print messages on standard output instead")
        ->disable_flag_override();
    app.set_help_flag("--help", "Print this help");
    app.set_version_flag("--version", "genv-notify " GENV_VERSION, "Print the version");
    app.footer("--terminal prints one line per message until Ctrl-C or the terminal ends.\n\n"
               "Exit status:\n  0  Success\n  1  Failure\n  2  Usage error\n  6  No system bus\n\n"
               "Examples:\n  # Print messages in this terminal\n  genv-notify --terminal\n"
               "  # Start it with each desktop session\n  systemctl --user enable genv-notify");
    return core::exitAfterParsing(app, count, arguments);
}

} // namespace

} // namespace genv::notify

int main(int count, char** arguments) {
    bool onTerminal = false;
    try {
        if (const auto status = genv::notify::readOptions(count, arguments, onTerminal))
            return *status;
        std::signal(SIGPIPE, SIG_IGN);
        return onTerminal ? genv::notify::runOnTerminal() : genv::notify::runOnDesktop();
    } catch (const genv::ServiceUnavailable& error) {
        std::fprintf(stderr, "genv-notify: %s\n", genv::core::escaped(error.what(), 512).c_str());
        return genv::notify::statusNoService;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "genv-notify: %s\n", genv::core::escaped(error.what(), 512).c_str());
        return EXIT_FAILURE;
    }
}
