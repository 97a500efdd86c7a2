// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the log. Lines go to standard error, which systemd connects to the journal; records go
// to the journal itself where that is so, and else are lines, too. A thread writes, so that a
// journal that is stopped does not stop the service; what it cannot take in time is counted and
// dropped, and that is told.
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
    static constexpr std::size_t mostQueued = 10'000;

    Logger();
    /// Writes what is queued.
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
    /// A line as it is written; the journal takes its severity from it, as sd-daemon(3) has it.
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
