// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/environment/holding.hpp"

#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/environment/own_environment.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace genv::ctl {

namespace {

// Watches for the end of standard input and for signals. Data on standard input is ignored.
class InputEnd {
  public:
    explicit InputEnd(const StopSignals& signals)
        : signals_(signals), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        add(signals.descriptor());
        // A file, or a closed standard input, cannot be polled and counts as ended.
        isOver_ = !add(STDIN_FILENO);
    }

    [[nodiscard]] int descriptor() const { return epoll_.get(); }

    /// Whether it is time to end. Call it first of all, and when the descriptor is readable.
    bool isOver() {
        if (isOver_ || signals_.take() != 0)
            return true;
        epoll_event arrived{};
        if (epoll_wait(epoll_.get(), &arrived, 1, 0) < 1)
            return false;
        std::array<char, 4096> unused{};
        const ssize_t length = read(STDIN_FILENO, unused.data(), unused.size());
        return length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN);
    }

  private:
    bool add(int descriptor) {
        epoll_event arrival{EPOLLIN | EPOLLRDHUP, {}};
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &arrival) == 0)
            return true;
        if (errno != EPERM)
            throw std::system_error(errno, std::generic_category(), "waiting for an end");
        return false;
    }

    const StopSignals& signals_;
    client::Descriptor epoll_;
    bool isOver_ = false;
};

std::string startWhileOpen(Context& context, const OwnEnvironmentOptions& options) {
    context.waitsWhileOpen = STDIN_FILENO;
    try {
        return startOwnEnvironment(context, options).id;
    } catch (const Interrupted& interrupted) {
        if (interrupted.signal() != 0)
            throw;
        throw Failure(ExitStatus::Failed,
                      "Standard input ended while waiting; nothing was attached");
    }
}

} // namespace

void holdEnvironment(Context& context, const OwnEnvironmentOptions& options) {
    Client& client = context.client();
    const std::string id = startWhileOpen(context, options);
    client.listenForEventsOnly();
    const StopSignals signals;
    InputEnd end(signals);
    print(jsonText(
        {{"environment", id}, {"devices", client.environment(id).devices}, {"process", getpid()}},
        false));
    while (!end.isOver()) {
        const auto event = client.nextEvent(end.descriptor());
        if (event && event->kind == Event::Kind::EnvironmentRemoved && event->environment == id)
            throw Failure(ExitStatus::Failed, fmt::format("Environment {} has ended", id));
    }
}

} // namespace genv::ctl
