// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/exit_watch.hpp"

#include "service/posix/pidfd.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace genv::service {

ExitWatch::ExitWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.isOpen())
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

bool ExitWatch::add(const Pidfd& process) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u64 = process.pid();
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process.get(), &event) == 0;
}

std::vector<core::Pid> ExitWatch::take() {
    std::vector<core::Pid> ended;
    std::array<epoll_event, 64> events{};
    int count = 0;
    do {
        count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
        for (int i = 0; i < count; ++i)
            ended.push_back(
                static_cast<core::Pid>(events.at(static_cast<std::size_t>(i)).data.u64));
    } while (count == static_cast<int>(events.size()));
    return ended;
}

} // namespace genv::service
