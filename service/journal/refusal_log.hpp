// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes down which calls were refused: those that somebody was not allowed as records of the
// journal, other mistakes as lines of the log. What one user causes within a minute is bounded, and
// what is left out is counted and told. A call that a password would allow is made again as soon as
// somebody can be asked: only what becomes of that is written, or the refusal where it is not made.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/scheduler.hpp"
#include "dbus/refusals.hpp"
#include "service/journal/record_queue.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace genv::service::journal {

class RefusalLog : public dbus::Refusals {
  public:
    /// How many refusals of one user are written in each `window`.
    static constexpr std::size_t mostPerWindow = 200;
    static constexpr std::chrono::minutes window{1};
    /// How long a call that a password would allow may take to be made again.
    static constexpr std::chrono::seconds retryTime{5};

    /// All outlive this.
    RefusalLog(const core::Ledger& ledger, core::Scheduler& scheduler, core::Log& log,
               RecordQueue& records)
        : ledger_(ledger), scheduler_(scheduler), log_(log), records_(records) {}
    /// Writes what waits to be, and tells what was left out.
    ~RefusalLog() override;
    RefusalLog(const RefusalLog&) = delete;
    RefusalLog& operator=(const RefusalLog&) = delete;

    void refused(const dbus::Refusal& refusal) override;
    void mayAsk(const std::string& connection, const policy::MethodRow& method) override;
    /// A connection is gone, and makes no call again.
    void left(const std::string& connection);

  private:
    [[nodiscard]] bool isOneTooMany(const std::optional<core::Uid>& caller);
    void endWindow();
    void record(const dbus::Refusal& refusal);
    void hold(const dbus::Refusal& refusal);
    /// By connection and method.
    using Key = std::pair<std::string, const policy::MethodRow*>;
    void writeHeld(const Key& key);
    struct Held {
        dbus::Refusal refusal;
        std::unique_ptr<core::Scheduled> timer;
    };

    const core::Ledger& ledger_;
    core::Scheduler& scheduler_;
    core::Log& log_;
    RecordQueue& records_;
    std::map<std::optional<core::Uid>, std::size_t> counts_; ///< in this window, by caller
    std::unique_ptr<core::Scheduled> timer_;                 ///< while there is a window
    std::map<Key, Held> held_; ///< refused for want of a password, and maybe made again
};

} // namespace genv::service::journal
