// SPDX-License-Identifier: LGPL-2.1-or-later
// Predicts when waiting requests can start, from the leases of the current holders. Requests are
// planned one after the other, so that each plan takes the earlier requests into account.
//
// The end of a hold without a lease is unknown. The forecast assumes that the holder leaves
// `keepFor` from now. This estimate moves as time passes, which does no harm: as soon as the last
// such holder has left, the start of a waiting request is fixed, and every grant that uses its kept
// devices ends within `keepFor`.
#pragma once

#include "core/model/attach_request.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace genv::core {

class Forecast {
  public:
    /// Returns when a holder's lease ends; unset if it has none.
    using EndOf = std::function<std::optional<BootTime>(const Holder&)>;

    /// The earliest start of a request, with the devices that it gets then.
    struct Start {
        BootTime at;
        std::vector<const TableDevice*> devices;
        bool isGuess = false; ///< true if the start depends on a holder without a lease
    };

    /// The table must outlive this object.
    Forecast(const DeviceTable& devices, EndOf endOf, BootTime now,
             std::chrono::microseconds keepFor)
        : devices_(devices), endOf_(std::move(endOf)), now_(now), keepFor_(keepFor) {}

    /// Returns when the next request in the queue can start, after the requests that are already
    /// planned.
    [[nodiscard]] Start earliest(const AttachRequest& request, const EnvironmentRecord& environment,
                                 std::optional<std::chrono::seconds> lifetime) const;

    /// Adds the devices that a request gets at its start to the plan.
    void plan(const Start& start, std::optional<Bytes> share,
              std::optional<std::chrono::seconds> lifetime);
    /// Adds a device, or a share of it, that is kept for a request until its start and that the
    /// request does not need afterwards.
    void keep(const TableDevice& device, std::optional<Bytes> share, const Start& start);

  private:
    // A device, or a share of it, is held from one moment to another.
    struct Hold {
        BootTime from;
        BootTime until;
        std::optional<Bytes> share;
        bool isGuessedStart = false;
        bool isGuessedEnd = false;
    };
    // A request can start on a device from `from` until before `until`, or without an upper bound.
    struct Window {
        const TableDevice* device = nullptr;
        BootTime from;
        std::optional<BootTime> until;
        bool isGuess = false;
    };

    [[nodiscard]] std::vector<Hold> holdsOn(const TableDevice& device,
                                            std::optional<std::chrono::seconds> lifetime) const;
    void addWindows(const TableDevice& device, std::optional<Bytes> share,
                    std::optional<std::chrono::seconds> lifetime,
                    std::vector<Window>& windows) const;
    [[nodiscard]] Start earliestOf(const std::vector<const TableDevice*>& candidates,
                                   std::size_t need, std::optional<Bytes> share,
                                   std::optional<std::chrono::seconds> lifetime) const;

    const DeviceTable& devices_;
    const EndOf endOf_;
    const BootTime now_;
    const std::chrono::microseconds keepFor_;
    std::unordered_map<DeviceUuid, std::vector<Hold>> planned_;
};

} // namespace genv::core
