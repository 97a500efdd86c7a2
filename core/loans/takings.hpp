// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries out the takings that the queue plans.
//
// Invariants:
// - A taking is in the document of its request before the first victim is parked. All
//   further steps follow from the documents, so a restarted service goes on.
// - A taking that ends without a grant turns back the victims that move, and reserves the devices
//   of those that are parked for their return.
// - A victim whose parking failed is left alone for a while, each time longer, or ended after a
//   warning if its owner chose that.
#pragma once

#include "core/base/error.hpp"
#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/parking/parkings.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "core/queue/lending.hpp"
#include "core/settings/settings.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

/// How long an environment is left alone after it resumed, or after its parking was turned back:
/// requests that come and are canceled must not keep it from its work.
inline constexpr std::chrono::milliseconds restAfterReturn{std::chrono::minutes{1}};
/// How long an environment is left alone after its parking failed for the first time, and at most.
inline constexpr std::chrono::milliseconds firstBackoff{std::chrono::minutes{1}};
inline constexpr std::chrono::milliseconds maxBackoff{std::chrono::hours{1}};

/// Returns the memory on the devices of an environment, as of the last sample, or of its parked
/// processes.
Bytes memoryToMove(const LedgerView& ledger, const EnvironmentRecord& environment);

/// The settings in force.
struct TakingRules {
    std::function<const ParkingSettings&()> settings;
    std::function<std::chrono::milliseconds()> grace;     ///< from the warning to the end
    std::function<std::chrono::milliseconds()> killAfter; ///< from SIGTERM to SIGKILL
    /// Whether isolation keeps the room of a parked process free of those who do not hold it.
    std::function<bool()> isIsolated;
};

class Takings : public Lending {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Takings(Ledger& ledger, Parkings& parkings, const Clock& clock, Scheduler& scheduler,
            const EventHub& events, Log& log, TakingRules rules);
    ~Takings() override;
    Takings(const Takings&) = delete;
    Takings& operator=(const Takings&) = delete;

    /// Continues the takings of the restored state.
    void start();
    /// Handles an event of the ledger.
    void onEvent(const Event& event);

    /// Parks an environment whose device is idle, if a request waits for that device. Returns
    /// whether it begins to be parked.
    bool parkIdle(const EnvironmentId& id, const DeviceUuid& device);

    void onChanged(std::function<void()> listener) override { changed_ = std::move(listener); }
    [[nodiscard]] bool isAnyLoan() const override;
    [[nodiscard]] bool mayTake(Preemptible taker) const override;
    [[nodiscard]] std::vector<TakeableEnvironment>
    loansFor(Preemptible taker, std::optional<std::uint64_t> ticket) const override;
    void settle() override;
    [[nodiscard]] bool needsPlan(std::uint64_t ticket) const override;
    void begin(std::uint64_t ticket, const TakingPlan& plan,
               const std::vector<std::uint64_t>& overtaken) override;
    void end(std::uint64_t ticket, const std::string& why) override;
    void granted(std::uint64_t ticket) override;
    void watch() override;
    [[nodiscard]] std::string problemOf(std::uint64_t ticket) const override;

  private:
    struct Victim {
        EnvironmentId id;
        std::uint64_t sequence = 0; ///< of the environment
        bool isAsked = false;       ///< parking was requested
        bool isAnswered = false;
        std::optional<Error> failure = {};
        std::unique_ptr<Scheduled> ending = {}; ///< it was warned, and ends
    };
    /// A taking, as far as the documents do not have it.
    struct Running {
        EnvironmentId environment; ///< of the request
        Uid owner = 0;
        std::vector<Victim> victims;
        std::unique_ptr<Scheduled> timer; ///< for the deadline
    };
    struct Failed {
        BootTime since;
        BootTime until; ///< it is left alone until then
        std::chrono::milliseconds delay;
    };

    [[nodiscard]] const PendingTaking* takingOf(std::uint64_t ticket) const;
    [[nodiscard]] bool mayPark() const;
    [[nodiscard]] bool isLoan(const EnvironmentRecord& environment) const;
    [[nodiscard]] std::optional<BootTime> restsUntil(const EnvironmentRecord& environment,
                                                     Preemptible taker) const;
    [[nodiscard]] std::chrono::milliseconds estimate(const TakingPlan& plan) const;
    [[nodiscard]] BootTime deadline(std::chrono::milliseconds estimate) const;
    [[nodiscard]] Taker takerOf(std::uint64_t ticket) const;
    [[nodiscard]] bool holdsAny(const EnvironmentRecord& environment,
                                const PendingTaking& taking) const;
    /// Returns whether another taking has asked to park this environment as well.
    [[nodiscard]] bool isAskedByOther(std::uint64_t ticket, const EnvironmentId& id) const;
    Running& adopt(std::uint64_t ticket);
    void advance(std::uint64_t ticket);
    void advance(std::uint64_t ticket, Victim& victim);
    void park(std::uint64_t ticket, Victim& victim);
    void parked(const EnvironmentId& id, std::uint64_t sequence,
                const std::optional<Error>& refusal);
    void failed(std::uint64_t ticket, Victim& victim, const Error& error);
    void noteFailure(const EnvironmentRecord& environment, const Error& error);
    void warn(std::uint64_t ticket, Victim& victim);
    void extendDeadline(std::uint64_t ticket, std::chrono::milliseconds time);
    void expire(std::uint64_t ticket);
    void finish(std::uint64_t ticket, const std::string& why);
    void release(std::uint64_t ticket, const Victim& victim);
    void giveBack(const EnvironmentRecord& environment);
    void changed();

    Ledger& ledger_;
    Parkings& parkings_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const EventHub& events_;
    Log& log_;
    const TakingRules rules_;
    std::function<void()> changed_;
    std::map<std::uint64_t, Running> running_;
    std::map<std::uint64_t, std::string> problems_; ///< of waiting requests
    std::map<EnvironmentId, BootTime> rested_;      ///< since when environments rest
    std::map<EnvironmentId, Failed> failed_;
    std::unique_ptr<Scheduled> wake_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< expires with this object
};

} // namespace genv::core
