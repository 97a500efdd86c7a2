// SPDX-License-Identifier: LGPL-2.1-or-later
// What is kept for those who wait: worked out for one moment, one waiting request after the other,
// earliest first. A request keeps whatever it could use of what is free, within its owner's limits,
// until it can start.
#pragma once

#include "core/admission.hpp"
#include "core/forecast.hpp"
#include "core/ledger.hpp"
#include "core/pool.hpp"
#include "core/reservations.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace genv::core {

/// When the lease of a request ends that is granted now: by its own lifetime, or with its
/// environment (null: a new one). Unset: it has none.
std::optional<BootTime> leaseEnd(const Environment* environment,
                                 std::optional<std::chrono::seconds> lifetime, BootTime now);
/// The same for a request that waits. One that starts its environment gives that its lease.
std::optional<BootTime> leaseEnd(const Environment& environment, const Wait& wait, BootTime now);

class KeptDevices {
  public:
    /// Of the machine's devices or, for its children, of what `parent` holds. The ledger outlives
    /// this, and does not change but by what is granted to the next request.
    KeptDevices(const Ledger& ledger, BootTime now, std::chrono::microseconds keepFor,
                const Environment* parent = nullptr);

    /// The devices that are kept, and others beside them.
    [[nodiscard]] const DeviceTable& devices() const { return pool_->devices(); }
    /// Whether an environment's requests are among those for which they are kept.
    [[nodiscard]] bool areFor(const Environment& environment) const {
        return pool_->isFor(environment);
    }
    /// To be called when something was granted.
    void refresh() { pool_->refresh(); }

    /// Keeps for the next request in the queue what it could use; `limits` where they apply to it.
    void keep(const Environment& environment, const Wait& wait,
              const std::optional<Limits>& limits);

    /// The moment for which this is worked out; others are to be compared with it.
    [[nodiscard]] BootTime now() const { return now_; }
    [[nodiscard]] const Reservations& reservations() const { return reservations_; }
    /// What is kept for a user, but for one of the requests.
    [[nodiscard]] KeptForUser of(Uid owner,
                                 std::optional<std::uint64_t> except = std::nullopt) const;
    /// When those for whom something is kept can start, latest first.
    [[nodiscard]] std::vector<BootTime> starts() const;

  private:
    // What a request could use of one device; `counts` towards its owner's limits.
    struct Part {
        const Device* device = nullptr;
        std::optional<Bytes> share;
        bool counts = false;
        [[nodiscard]] Bytes memory() const; ///< that is free of it
    };
    // What is kept for one request.
    struct Entry {
        Uid owner = 0;
        Keeper keeper;
        KeptForUser devices;
    };

    [[nodiscard]] std::vector<Part> usable(const AttachRequest& request,
                                           const Environment& environment,
                                           const Forecast::Start& start) const;
    [[nodiscard]] std::optional<Forecast::Start>
    startNow(const Environment& environment, const Wait& wait, std::vector<Part>& parts) const;

    void dropWhatLimitsForbid(const Environment& environment, const Limits& limits,
                              std::vector<Part>& parts) const;

    const Ledger& ledger_;
    std::unique_ptr<Pool> pool_; ///< the forecast has its table
    const BootTime now_;
    Forecast forecast_;
    Reservations reservations_;
    std::vector<Entry> entries_;
};

} // namespace genv::core
