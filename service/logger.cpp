// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/logger.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

void writeWhole(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count < 0 && errno != EINTR)
            return; // there is nobody left to tell
        if (count > 0)
            text.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace

Logger::Logger() : toJournal_(std::getenv("JOURNAL_STREAM") != nullptr) {
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "genvd-log");
}

Logger::~Logger() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Logger::write(core::Severity severity, const std::string& line) {
    {
        const std::lock_guard lock(mutex_);
        if (lines_.size() >= mostQueued) {
            ++dropped_;
            return;
        }
        lines_.push_back(toJournal_ ? fmt::format("<{}>{}\n", static_cast<int>(severity), line)
                                    : fmt::format("genvd: {}\n", line));
    }
    changed_.notify_one();
}

void Logger::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
        if (lines_.empty())
            return; // stopping, and everything is written
        std::deque<std::string> lines = std::exchange(lines_, {});
        const std::size_t dropped = std::exchange(dropped_, 0);
        lock.unlock();
        for (const std::string& line : lines)
            writeWhole(line);
        if (dropped != 0)
            writeWhole(fmt::format(
                "genvd: {} lines were dropped, since the log did not take them\n", dropped));
        lock.lock();
    }
}

} // namespace genv::service
