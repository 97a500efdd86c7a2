// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-notify: shows the user who runs it what happens to their environments, as desktop
// notifications or on the terminal.
#include "client/loop.hpp"
#include "client/notify/agent.hpp"
#include "client/notify/desktop.hpp"
#include "client/notify/gatherer.hpp"
#include "client/notify/terminal_lines.hpp"
#include "core/base/command_line/help_formatter.hpp"
#include "core/base/command_line/parsing.hpp"
#include "core/base/text.hpp"
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

constexpr std::chrono::milliseconds burst{250};
constexpr int statusNoService = 6;

core::WallTime now() {
    return std::chrono::time_point_cast<core::WallTime::duration>(std::chrono::system_clock::now());
}

/// Shows the messages of the service's notices, one burst at a time.
class Shower {
  public:
    using Show = std::function<void(std::vector<DesktopNotification>)>;

    Shower(bool repeats, Show show)
        : gatherer_(repeats), show_(std::move(show)), agent_([this](const Notice& notice) {
              if (gatherer_.add(notice, now()))
                  burst_.start(burst);
          }),
          burst_(agent_.loop(), [this] { show_(gatherer_.take(now())); }) {}

    [[nodiscard]] sd_event* loop() const { return agent_.loop(); }
    NoticeSubscription& link() { return agent_.link(); }
    Gatherer& gatherer() { return gatherer_; }
    void end(int status) { agent_.end(status); }
    int run() { return agent_.run(); }

  private:
    Gatherer gatherer_;
    Show show_;
    Agent agent_;
    event::Timer burst_;
};

int runOnTerminal() {
    std::optional<Shower> agent;
    agent.emplace(false, [&agent](const std::vector<DesktopNotification>& messages) {
        std::string text;
        for (const DesktopNotification& message : messages)
            text += terminalText(message, now(), currentStyle());
        if (!writeOut(text))
            agent->end(errno == EPIPE || errno == EIO ? EXIT_SUCCESS : EXIT_FAILURE);
    });
    agent->link().connect();
    // epoll always reports a hang-up. A file has none.
    sd_event_add_io(
        agent->loop(), nullptr, STDOUT_FILENO, 0,
        [](sd_event_source*, int, std::uint32_t, void* data) {
            static_cast<Shower*>(data)->end(EXIT_SUCCESS);
            return 0;
        },
        &*agent);
    return agent->run();
}

int runOnDesktop() {
    std::optional<Desktop> desktop;
    Shower agent(true, [&desktop](std::vector<DesktopNotification> messages) {
        desktop->show(std::move(messages));
    });
    desktop.emplace(
        agent.loop(),
        Desktop::Listener{[&](const std::string& subject) { agent.gatherer().forget(subject); },
                          [&](const NotificationAction& action, const std::string& subject) {
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
