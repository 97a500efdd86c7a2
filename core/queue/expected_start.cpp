// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/expected_start.hpp"

#include "core/ledger/pool.hpp"
#include "core/queue/forecast.hpp"

#include <optional>

namespace genv::core {

namespace {

// The forecast for the devices of the machine or of one parent.
class Expectation {
  public:
    Expectation(const LedgerView& ledger, const StartHistory& history,
                const EnvironmentRecord* parent, BootTime now, std::chrono::microseconds keepFor)
        : history_(history), pool_(ledger, parent),
          forecast_(
              pool_.devices(),
              [&ledger, &history, now](const Holder& holder) {
                  return endOf(ledger.get(holder.environment), holder.attachment, history, now);
              },
              now, keepFor) {}

    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;
    ~Expectation() = default;

    Forecast::Start next(const EnvironmentRecord& environment, const Wait& wait) {
        Forecast::Start start = forecast_.earliest(wait.request, environment, wait.lifetime);
        auto length = wait.lifetime;
        if (const auto expected = expectedLength(environment, {}, history_); !length && expected)
            length = std::chrono::ceil<std::chrono::seconds>(*expected);
        forecast_.plan(start, wait.request.share, length);
        return start;
    }

  private:
    static std::optional<std::chrono::microseconds>
    expectedLength(const EnvironmentRecord& environment, std::chrono::microseconds age,
                   const StartHistory& history) {
        return history.expectedLength(environment.uid, environment.configuration.name.value_or(""),
                                      age);
    }

    static std::optional<BootTime> endOf(const EnvironmentRecord& environment,
                                         const DeviceAttachment& attachment,
                                         const StartHistory& history, BootTime now) {
        if (const auto end = environment.endOf(attachment))
            return end;
        const auto length = expectedLength(environment, now - environment.began, history);
        return length ? std::optional(environment.began + *length) : std::nullopt;
    }

    const StartHistory& history_;
    Pool pool_;
    Forecast forecast_;
};

} // namespace

std::map<std::uint64_t, BootTime> expectedStarts(const LedgerView& ledger,
                                                 const std::vector<std::uint64_t>& tickets,
                                                 const StartHistory& history, BootTime now,
                                                 std::chrono::microseconds keepFor) {
    std::map<std::uint64_t, BootTime> starts;
    std::map<const EnvironmentRecord*, Expectation> all;
    for (const std::uint64_t ticket : tickets) {
        const EnvironmentRecord& environment = ledger.get(ledger.waits().at(ticket));
        const EnvironmentRecord* parent = ledger.parentOf(environment);
        Expectation& expectation =
            all.try_emplace(parent, ledger, history, parent, now, keepFor).first->second;
        const Forecast::Start start = expectation.next(environment, ledger.wait(ticket));
        if (!start.isGuess)
            starts.emplace(ticket, start.at);
    }
    return starts;
}

} // namespace genv::core
