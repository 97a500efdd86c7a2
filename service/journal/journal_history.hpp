// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the history from the journal on a worker. Only one read runs at a time, and users are
// served in turn, so that a user with many requests delays another user by at most one read.
#pragma once

#include "core/ports/history.hpp"
#include "service/journal/reader.hpp"
#include "service/loop/worker.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace genv::service {

class JournalHistory : public core::History {
  public:
    explicit JournalHistory(Worker::Post post, journal::Source source = journal::Source::system(),
                            journal::Bounds bounds = {});
    /// Stops the read in progress.
    ~JournalHistory() override;
    JournalHistory(const JournalHistory&) = delete;
    JournalHistory& operator=(const JournalHistory&) = delete;

    [[nodiscard]] std::vector<std::string_view> kinds() const override;
    void read(core::Uid asking, core::HistoryFilter query,
              std::function<void(core::HistoryPage)> answer) override;

  private:
    struct Asked {
        core::HistoryFilter query;
        std::function<void(core::HistoryPage)> answer;
    };

    void next();

    journal::Source source_;
    journal::Bounds bounds_;
    std::map<core::Uid, std::deque<Asked>> asked_; ///< has no entry for a user without requests
    core::Uid lastServed_ = 0;
    bool reading_ = false;
    std::atomic<bool> stop_ = false;
    Worker worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
