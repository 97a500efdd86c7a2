// SPDX-License-Identifier: LGPL-2.1-or-later
// Logs refused calls: missing permissions as journal records, other errors as lines of the log. An
// error that merely answers the call, such as that a process is in no environment, is not logged,
// and neither is a configuration that was not reloaded: the service itself logs why.
// The number of entries that one user causes per minute is limited, and the log reports how many
// were omitted. If authentication would allow a call, clients repeat it with interaction allowed.
// In this case, only the result of the repeated call is logged, or the refusal if the client does
// not repeat it.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/ports/scheduler.hpp"
#include "dbus/calls/refusals.hpp"
#include "service/journal/named_lines.hpp"
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
    /// The maximum number of refusals of one user that are written per `window`.
    static constexpr std::size_t maxPerWindow = 200;
    static constexpr std::chrono::minutes window{1};
    /// How long to wait for a client to repeat a call that authentication would allow.
    static constexpr std::chrono::seconds retryTime{5};

    /// All arguments must outlive this object.
    RefusalLog(const core::LedgerView& ledger, core::Scheduler& scheduler, NamedLines& log,
               RecordQueue& records)
        : ledger_(ledger), scheduler_(scheduler), log_(log), records_(records) {}
    /// Writes the refusals on hold, and reports how many were omitted.
    ~RefusalLog() override;
    RefusalLog(const RefusalLog&) = delete;
    RefusalLog& operator=(const RefusalLog&) = delete;

    void refused(const dbus::Refusal& refusal) override;
    void mayAsk(const std::string& connection, const policy::MethodRow& method) override;
    /// Handles the end of a connection, which cannot repeat its calls any more.
    void onDisconnected(const std::string& connection);

  private:
    [[nodiscard]] bool isOneTooMany(const std::optional<core::Actor>& caller);
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

    const core::LedgerView& ledger_;
    core::Scheduler& scheduler_;
    NamedLines& log_;
    RecordQueue& records_;
    std::map<std::optional<core::Uid>, std::size_t> counts_; ///< in this window, by caller
    std::unique_ptr<core::Scheduled> timer_;                 ///< set while a window is open
    std::map<Key, Held> held_; ///< refused for lack of authentication; may be repeated
};

} // namespace genv::service::journal
