// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices that are kept for waiting requests, computed for one moment. Requests are processed
// in the order of the queue. A request keeps every free device that it could use, within its
// owner's limits, until it can start.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/ledger/pool.hpp"
#include "core/limits/admission.hpp"
#include "core/placement/reservations.hpp"
#include "core/queue/forecast.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace genv::core {

/// Returns when the lease of a request ends that is granted now: after its own lifetime, or with
/// its environment (null: a new one). Unset if it has no lease.
std::optional<BootTime> leaseEnd(const EnvironmentRecord* environment,
                                 std::optional<std::chrono::seconds> lifetime, BootTime now);

class KeptDevices {
  public:
    /// Computes kept devices of the machine, where those of takings are kept from the start, or,
    /// for child environments, of the devices that `parent` holds. The ledger must outlive this
    /// object. It may change only by grants to the next request.
    KeptDevices(const LedgerView& ledger, BootTime now, std::chrono::microseconds keepFor,
                const EnvironmentRecord* parent = nullptr);

    /// Returns the pool of devices; kept devices are among them.
    [[nodiscard]] const DeviceTable& devices() const { return pool_->devices(); }
    /// Returns whether devices are kept for the requests of this environment.
    [[nodiscard]] bool areFor(const EnvironmentRecord& environment) const {
        return pool_->isFor(environment);
    }
    /// Call this after a grant.
    void refresh() { pool_->refresh(); }

    /// Keeps the devices that the next request in the queue could use. `limits`: the limits that
    /// apply to the request, if any.
    void keep(const EnvironmentRecord& environment, const Wait& wait,
              const std::optional<Limits>& limits);

    /// Returns the moment of the computation. Compare other moments with it.
    [[nodiscard]] BootTime now() const { return now_; }
    [[nodiscard]] const Reservations& reservations() const { return reservations_; }
    /// Returns the devices that are kept for a user, except for the request `except`.
    [[nodiscard]] KeptForUser of(Uid owner,
                                 std::optional<std::uint64_t> except = std::nullopt) const;
    /// Returns when the requests with kept devices can start, latest first.
    [[nodiscard]] std::vector<BootTime> starts() const;

  private:
    // The part of a device that a request could use. `counts`: it counts towards its owner's
    // limits.
    struct Part {
        const TableDevice* device = nullptr;
        std::optional<Bytes> share;
        bool counts = false;
        [[nodiscard]] Bytes memory() const; ///< the free part of the memory
    };
    // The devices that are kept for one request.
    struct Entry {
        Uid owner = 0;
        Keeper keeper;
        KeptForUser devices;
    };

    [[nodiscard]] std::vector<Part> usable(const AttachRequest& request,
                                           const EnvironmentRecord& environment,
                                           const Forecast::Start& start) const;
    [[nodiscard]] std::optional<Forecast::Start> startNow(const EnvironmentRecord& environment,
                                                          const Wait& wait,
                                                          std::vector<Part>& parts) const;

    void keepTaking(const EnvironmentRecord& environment, const Wait& wait);
    void dropWhatLimitsForbid(const EnvironmentRecord& environment, const Limits& limits,
                              bool isLoan, std::vector<Part>& parts) const;

    const LedgerView& ledger_;
    std::unique_ptr<Pool> pool_; ///< on the heap, since the forecast refers to its table
    const BootTime now_;
    Forecast forecast_;
    Reservations reservations_;
    std::vector<Entry> entries_;
};

} // namespace genv::core
