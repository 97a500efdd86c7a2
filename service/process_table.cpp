// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/process_table.hpp"

#include "core/error.hpp"
#include "service/proc_files.hpp"
#include "service/proc_text.hpp"
#include "service/shortage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

// glibc 2.36 declares these functions without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

namespace genv::service {

namespace {

[[noreturn]] void failForShortage(core::Pid pid, int error) {
    core::fail(core::ErrorCode::LimitsExceeded,
               "the service has no room left to watch process {}: {}; try again later", pid,
               std::generic_category().message(error));
}

} // namespace

// PIDFD_THREAD, of Linux 6.9: which headers need not have, and earlier kernels give to nobody.
constexpr int threadFlag = O_EXCL;

struct ProcessTable::Watch {
    Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
    std::unordered_map<std::uint64_t, const Pin*> pins; ///< by ticket, which an event carries
    std::uint64_t lastTicket = 0;
};

class ProcessTable::Pin : public core::ProcessPin {
  public:
    Pin(Descriptor pidfd, core::ProcessIdentity identity, std::shared_ptr<Watch> watch)
        : pidfd_(std::move(pidfd)), identity_(identity), watch_(std::move(watch)),
          ticket_(++watch_->lastTicket) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = ticket_;
        if (::epoll_ctl(watch_->epoll.get(), EPOLL_CTL_ADD, pidfd_.get(), &event) < 0)
            failForShortage(identity_.pid, errno);
        watch_->pins.emplace(ticket_, this);
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() override {
        // Closing the pidfd does not take it out of the epoll set where its owner has one, too.
        stopWatching();
        watch_->pins.erase(ticket_);
    }

    [[nodiscard]] const core::ProcessIdentity& identity() const override { return identity_; }

    [[nodiscard]] std::optional<core::ProcessFacts> now() const override {
        auto facts = readPinnedProcess(identity_.pid);
        // While the pidfd says it lives, the pid is its own.
        if (!facts || hasExited() || facts->identity != identity_)
            return std::nullopt;
        return facts;
    }

    // Not by signal 0, which an unreaped zombie still takes.
    [[nodiscard]] bool hasExited() const override {
        pollfd waiting{pidfd_.get(), POLLIN, 0};
        return ::poll(&waiting, 1, 0) != 0;
    }

    bool signal(core::TerminationSignal signal) const override {
        const int number = signal == core::TerminationSignal::Kill ? SIGKILL : SIGTERM;
        return !hasExited() && ::pidfd_send_signal(pidfd_.get(), number, nullptr, 0) == 0;
    }

    // An exit is told once; the descriptor stays readable.
    void stopWatching() const {
        ::epoll_ctl(watch_->epoll.get(), EPOLL_CTL_DEL, pidfd_.get(), nullptr);
    }

  private:
    Descriptor pidfd_;
    core::ProcessIdentity identity_;
    std::shared_ptr<Watch> watch_;
    std::uint64_t ticket_;
};

ProcessTable::ProcessTable() : watch_(std::make_shared<Watch>()) {
    if (watch_->epoll.get() < 0)
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

ProcessTable::~ProcessTable() = default;

std::shared_ptr<const core::ProcessPin> ProcessTable::pin(core::Pid pid) {
    if (pid == 0 || pid > INT_MAX)
        core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
    Descriptor pidfd(::pidfd_open(static_cast<pid_t>(pid), 0));
    if (pidfd.get() < 0 && isShortage(errno))
        failForShortage(pid, errno);
    if (pidfd.get() < 0)
        core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
    return adopt(std::move(pidfd), pid);
}

std::shared_ptr<const core::ProcessPin> ProcessTable::adopt(Descriptor pidfd, core::Pid pid) {
    errno = 0;
    const auto identity = readIdentity(pid);
    if (!identity && isShortage(errno))
        failForShortage(pid, errno);
    if (!identity)
        core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
    auto pin = std::make_shared<Pin>(std::move(pidfd), *identity, watch_);
    // Still alive after reading, so that what was read is of the pinned process.
    if (pin->hasExited())
        core::fail(core::ErrorCode::NoSuchProcess, "process {} has exited", pid);
    return pin;
}

std::shared_ptr<const core::ProcessPin> ProcessTable::pinDescriptor(int pidfd) {
    errno = 0;
    const auto text = readCapped(fmt::format("/proc/self/fdinfo/{}", pidfd), 4096);
    if (!text && isShortage(errno))
        core::fail(core::ErrorCode::LimitsExceeded,
                   "the service has no room left to look at a descriptor: {}; try again later",
                   std::generic_category().message(errno));
    const int pid = text ? parseDescriptorPid(*text) : 0;
    if (pid == 0)
        core::fail(core::ErrorCode::InvalidArgs,
                   "the descriptor is not one of a process (pidfd_open)");
    // It hangs up when its thread ends, which says nothing of the process.
    if ((::fcntl(pidfd, F_GETFL) & threadFlag) != 0)
        core::fail(core::ErrorCode::InvalidArgs,
                   "the descriptor is one of a thread: expected one of a process (pidfd_open "
                   "without PIDFD_THREAD)");
    if (pid < 0)
        core::fail(core::ErrorCode::NoSuchProcess, "the process of the descriptor has exited");
    Descriptor own(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    if (own.get() < 0)
        failForShortage(static_cast<core::Pid>(pid), errno);
    return adopt(std::move(own), static_cast<core::Pid>(pid));
}

std::vector<core::ProcessIdentity> ProcessTable::ancestors(const core::ProcessFacts& process) {
    return readAncestors(process);
}

std::optional<core::ProcessFacts> ProcessTable::look(core::Pid pid) {
    return readProcess(pid);
}

void ProcessTable::onExit(std::function<void(const core::ProcessIdentity&)> listener) {
    listener_ = std::move(listener);
}

int ProcessTable::descriptor() const {
    return watch_->epoll.get();
}

void ProcessTable::dispatch() {
    std::array<epoll_event, 64> events{};
    const int count =
        ::epoll_wait(watch_->epoll.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        // A listener may have dropped pins whose events are in this very batch.
        const auto found = watch_->pins.find(events.at(static_cast<std::size_t>(i)).data.u64);
        if (found == watch_->pins.end())
            continue;
        found->second->stopWatching();
        const core::ProcessIdentity identity = found->second->identity();
        if (listener_)
            listener_(identity);
    }
}

} // namespace genv::service
