// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/log_watch.hpp"

#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace genv::ctl {

namespace {

client::Descriptor eachSecond() {
    client::Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    const itimerspec second{{1, 0}, {1, 0}};
    if (!timer.isOpen() || timerfd_settime(timer.get(), 0, &second, nullptr) < 0)
        throw std::system_error(errno, std::generic_category(), "a timer cannot be started");
    return timer;
}

} // namespace

LogWatch::LogWatch() : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (!inotify_.isOpen())
        timer_ = eachSecond();
}

void LogWatch::add(const std::string& file) {
    const std::string folder = std::filesystem::path(file).parent_path();
    if (timer_.isOpen() || !folders_.insert(folder).second)
        return;
    if (inotify_add_watch(inotify_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        timer_ = eachSecond();
}

int LogWatch::descriptor() const {
    return timer_.isOpen() ? timer_.get() : inotify_.get();
}

void LogWatch::drain() const {
    std::array<char, 4096> events{};
    while (read(descriptor(), events.data(), events.size()) > 0) {
    }
}

} // namespace genv::ctl
