// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/logger.hpp"

#include "core/sentences/sentences.hpp"
#include "service/journal/sender.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

void writeWhole(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count < 0 && errno != EINTR)
            return; // the failure cannot be reported either
        if (count > 0)
            text.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace

Logger::Logger() : toJournal_(journal::isJournal(STDERR_FILENO)) {
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

std::string Logger::format(core::Severity severity, const std::string& line) const {
    return toJournal_ ? fmt::format("<{}>{}\n", static_cast<int>(severity), line)
                      : fmt::format("genvd: {}\n", line);
}

void Logger::write(core::Severity severity, const std::string& line) {
    enqueue(format(severity, line));
}

void Logger::write(journal::Record record) {
    if (toJournal_)
        enqueue(std::move(record));
    else
        enqueue(format(record.severity(), record.line()));
}

void Logger::enqueue(Entry entry) {
    {
        const std::lock_guard lock(mutex_);
        if (entries_.size() >= maxQueued) {
            ++dropped_;
            return;
        }
        entries_.push_back(std::move(entry));
    }
    changed_.notify_one();
}

void Logger::writeOut(const Entry& entry) const {
    if (const auto* line = std::get_if<std::string>(&entry)) {
        writeWhole(*line);
        return;
    }
    const auto& record = std::get<journal::Record>(entry);
    if (!journal::send(record)) // write at least the line
        writeWhole(format(record.severity(), record.line()));
}

void Logger::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !entries_.empty(); });
        if (entries_.empty())
            return; // stopping, and the queue is empty
        const std::deque<Entry> entries = std::exchange(entries_, {});
        const std::size_t dropped = std::exchange(dropped_, 0);
        lock.unlock();
        for (const Entry& entry : entries)
            writeOut(entry);
        if (dropped != 0)
            writeWhole(format(core::Severity::Warning,
                              fmt::format("{} dropped, since the log did not take them",
                                          core::counted(dropped, "line or record was",
                                                        "lines and records were"))));
        lock.lock();
    }
}

} // namespace genv::service
