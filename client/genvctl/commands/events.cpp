// SPDX-License-Identifier: LGPL-2.1-or-later
// events: prints the signals of the service as they arrive.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/objects/event_objects.hpp"
#include "client/genvctl/reports/event_reasons.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/notify/desktop_notification.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>

namespace genv::ctl {

namespace {

/// Its descriptor becomes readable when the command is stopped or when nothing reads its output any
/// more.
class Ending {
  public:
    Ending() : descriptor_(epoll_create1(EPOLL_CLOEXEC)) {
        watch(stop_.descriptor(), EPOLLIN);
        // epoll always reports errors and hang-ups. A file has neither.
        watch(STDOUT_FILENO, 0);
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
        stop_.take(); // a stop signal is the normal end of this command
        close(descriptor_);
    }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  private:
    void watch(int descriptor, std::uint32_t events) const {
        epoll_event event{};
        event.events = events;
        epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event);
    }

    StopSignals stop_;
    int descriptor_;
};

// Returns the environment with its owner: "environment 58 of alice".
std::string environmentText(const Event& event) {
    return fmt::format("environment {}{}", event.environment.value_or("-"),
                       event.user.empty() ? "" : " of " + event.user);
}

std::string noticeText(const Event& event) {
    const auto text = notify::textOf({*event.notice, event.time});
    std::string parts = text.value_or(event.notice->kind);
    if (!text) { // a kind of a later service
        for (const auto& [key, value] : event.notice->details)
            parts += fmt::format(" {}={}", key, value);
    }
    const std::string user =
        event.user.empty() ? fmt::format("uid {}", event.uid.value_or(0)) : event.user;
    return fmt::format("told {}: {}", user, parts);
}

std::string sentence(const Event& event) {
    const std::string gpu = event.device ? core::nameGpus({*event.device}) : "";
    switch (event.kind) {
    case Event::Kind::EnvironmentAdded:
        return environmentText(event) + " started";
    case Event::Kind::EnvironmentRemoved:
        return environmentText(event) + " ended";
    case Event::Kind::Attached:
        return fmt::format("{} attached to {}", gpu, environmentText(event));
    case Event::Kind::Detached:
        return fmt::format("{} detached from {}", gpu, environmentText(event));
    case Event::Kind::ProcessTerminated:
        return fmt::format("process {} of {} was told to end", event.pid.value_or(0),
                           event.environment ? environmentText(event) : "no environment");
    case Event::Kind::QueueChanged:
        return "the queue changed";
    case Event::Kind::Notice:
        return noticeText(event);
    case Event::Kind::ServiceEnded:
        return "the service ended";
    case Event::Kind::ServiceStarted:
        return "the service started";
    }
    return "";
}

Table eventsTable() {
    return Table({{"TIME", 24}, {"EVENT", 20}, {"DETAILS", 0}});
}

void printEvent(const GlobalOptions& global, const Event& event) {
    if (printJson(global, eventObject(event)))
        return;
    Table line = eventsTable();
    const std::string why = event.reason.empty() ? "" : ", " + reasonText(event.reason);
    line.add({core::nameTime(event.time), kindName(event.kind), sentence(event) + why});
    print(line.text(false));
}

void events(Context& context) {
    Client& client = context.client();
    client.status(); // starts the service if necessary, or fails with the reason
    client.listenForEvents();
    const Ending ending;
    if (context.options.json == JsonMode::Off && !context.options.noLegend) {
        const HeaderEmphasis emphasis = headerEmphasis();
        print(eventsTable().text(true, emphasis.before, emphasis.after));
    }
    while (const auto event = client.nextEvent(ending.descriptor()))
        printEvent(context.options, *event);
}

} // namespace

constexpr std::array eventsExamples{
    Example{"Follow events until Ctrl-C", "genvctl events"},
    Example{"Follow events as JSON, one object per line", "genvctl events --json=short"},
};

void addEvents(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "events", "Follow events of environments and devices",
                                   {.onCluster = cluster::aboutThisMachine(
                                        "\"squeue --iterate=5\" shows the jobs as they change."),
                                    .examples = eventsExamples});
    command->footer(
        "Prints a sentence per event until Ctrl-C; with --json=short, an object per line.\n"
        "A restart of the service shows as service-ended and service-started.");
    command->callback([&context] { context.command = [&context] { events(context); }; });
}

} // namespace genv::ctl
