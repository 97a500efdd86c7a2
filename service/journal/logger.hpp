// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the log. Lines go to standard error, which systemd connects to the journal. Records go
// to the journal itself if standard error is connected to it; otherwise they are written as lines,
// too. A separate thread writes, so that a stopped journal does not stop the service. Entries that
// exceed the queue are dropped and counted, and the log reports their number.
#pragma once

#include "core/ports/log.hpp"
#include "service/journal/record.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <variant>

namespace genv::service {

class Logger : public core::Log, public journal::Sink {
  public:
    static constexpr std::size_t maxQueued = 10'000;

    Logger();
    /// Writes the queued entries.
    ~Logger() override;
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;

    void write(core::Severity severity, const std::string& line) override;
    void write(journal::Record record) override;
    [[nodiscard]] bool takesFields() const override { return toJournal_; }

  private:
    using Entry = std::variant<std::string, journal::Record>;

    void loop();
    void enqueue(Entry entry);
    void writeOut(const Entry& entry) const;
    /// Formats a line with the prefix from which the journal reads its severity, see sd-daemon(3).
    [[nodiscard]] std::string format(core::Severity severity, const std::string& line) const;

    const bool toJournal_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Entry> entries_;
    std::size_t dropped_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace genv::service
