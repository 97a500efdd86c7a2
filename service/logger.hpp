// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: the log, on standard error, which systemd connects to the journal. A thread writes, so
// that a journal that is stopped does not stop the service; what it cannot take in time is counted
// and dropped.
#pragma once

#include "core/ports/log.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace genv::service {

class Logger : public core::Log {
  public:
    static constexpr std::size_t mostQueued = 10'000;

    Logger();
    /// Writes what is queued.
    ~Logger() override;
    Logger(const Logger&) = delete;
    Logger& operator=(const Logger&) = delete;

    void write(core::Severity severity, const std::string& line) override;

  private:
    void loop();

    bool toJournal_; ///< then each line begins with its severity, as sd-daemon(3) has it
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> lines_;
    std::size_t dropped_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace genv::service
