// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/crowd.hpp"

#include "core/base/parent_end.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace genv::bench {

namespace {

[[noreturn]] void live(pid_t leader, int reports) {
    const core::Pid self = static_cast<core::Pid>(::getpid());
    if (!core::endWithParent(leader, SIGKILL) ||
        ::write(reports, &self, sizeof(self)) != sizeof(self))
        ::_exit(1);
    for (;;)
        ::pause();
}

[[noreturn]] void lead(pid_t bench, int orders, int reports) {
    ::prctl(PR_SET_NAME, "bench-leader");
    if (!core::endWithParent(bench, SIGKILL))
        ::_exit(1);
    const pid_t leader = ::getpid();
    for (std::size_t count = 0; ::read(orders, &count, sizeof(count)) == sizeof(count);) {
        for (; count > 0; --count) {
            const pid_t child = ::fork();
            if (child == 0)
                live(leader, reports);
            if (child < 0)
                ::_exit(1); // the children end with it
        }
    }
    ::_exit(0);
}

} // namespace

Crowd::Crowd() {
    std::array<int, 2> orders{};
    std::array<int, 2> reports{};
    if (::pipe2(orders.data(), O_CLOEXEC) < 0 || ::pipe2(reports.data(), O_CLOEXEC) < 0)
        throw std::runtime_error("pipe");
    const pid_t bench = ::getpid();
    leader_ = ::fork();
    if (leader_ == 0) {
        // Close the descriptors of other crowds as well, so that those crowds do not wait for this
        // one.
        const auto lower = std::min(orders[0], reports[1]);
        const auto upper = std::max(orders[0], reports[1]);
        ::close_range(3, static_cast<unsigned>(lower) - 1, 0);
        ::close_range(static_cast<unsigned>(lower) + 1, static_cast<unsigned>(upper) - 1, 0);
        ::close_range(static_cast<unsigned>(upper) + 1, ~0U, 0);
        lead(bench, orders[0], reports[1]);
    }
    ::close(orders[0]);
    ::close(reports[1]);
    orders_ = core::Descriptor(orders[1]);
    reports_ = core::Descriptor(reports[0]);
    if (leader_ < 0)
        throw std::runtime_error("cannot start a process");
}

Crowd::~Crowd() {
    ::kill(leader_, SIGKILL);
    ::waitpid(leader_, nullptr, 0);
    core::Pid none = 0;
    while (::read(reports_.get(), &none, sizeof(none)) > 0) {
    }
}

void Crowd::add(std::size_t count) {
    if (::write(orders_.get(), &count, sizeof(count)) != sizeof(count))
        throw std::runtime_error("cannot start the processes");
    for (; count > 0; --count) {
        core::Pid pid = 0;
        if (::read(reports_.get(), &pid, sizeof(pid)) != sizeof(pid))
            throw std::runtime_error("cannot start another process");
        children_.push_back(pid);
    }
}

} // namespace genv::bench
