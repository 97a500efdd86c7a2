// SPDX-License-Identifier: LGPL-2.1-or-later
// When waiting requests can start: worked out from the leases of those who hold what they want, one
// request after the other, so that each counts with what those before it will hold.
//
// Nobody knows when a holder without a lease leaves. It counts as leaving `keepFor` from now. That
// moment moves on with time, and does no harm: as soon as the last such holder has left, the start
// of a waiting request is fixed, and whoever uses what is kept for it ends within `keepFor`.
#pragma once

#include "core/attach_request.hpp"
#include "core/device_table.hpp"
#include "core/environment.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace genv::core {

class Forecast {
  public:
    /// When a holder leaves by its lease; unset where it has none.
    using EndOf = std::function<std::optional<BootTime>(const Holder&)>;

    /// The earliest start of a request, and the devices that it gets then.
    struct Start {
        BootTime at;
        std::vector<const Device*> devices;
        bool isGuess = false; ///< it depends on a holder without a lease
    };

    /// The table outlives this.
    Forecast(const DeviceTable& devices, EndOf endOf, BootTime now,
             std::chrono::microseconds keepFor)
        : devices_(devices), endOf_(std::move(endOf)), now_(now), keepFor_(keepFor) {}

    /// When the next request in the queue can start, what is planned before it included.
    [[nodiscard]] Start earliest(const AttachRequest& request, const Environment& environment,
                                 std::optional<std::chrono::seconds> lifetime) const;

    /// Counts from now on with the devices that a request gets when it starts.
    void plan(const Start& start, std::optional<Bytes> share,
              std::optional<std::chrono::seconds> lifetime);
    /// Counts with a device, or a share of it, that is kept for a request until it starts, and that
    /// it does not need then.
    void keep(const Device& device, std::optional<Bytes> share, const Start& start);

  private:
    // A device, or a share of it, is held from one moment to another.
    struct Hold {
        BootTime from;
        BootTime until;
        std::optional<Bytes> share;
        bool isGuessedStart = false;
        bool isGuessedEnd = false;
    };
    // A request can begin on a device from one moment to another (which is too late), or for good.
    struct Window {
        const Device* device = nullptr;
        BootTime from;
        std::optional<BootTime> until;
        bool isGuess = false;
    };

    [[nodiscard]] std::vector<Hold> holdsOn(const Device& device,
                                            std::optional<std::chrono::seconds> lifetime) const;
    void addWindows(const Device& device, std::optional<Bytes> share,
                    std::optional<std::chrono::seconds> lifetime,
                    std::vector<Window>& windows) const;
    [[nodiscard]] Start earliestOf(const std::vector<const Device*>& candidates, std::size_t need,
                                   std::optional<Bytes> share,
                                   std::optional<std::chrono::seconds> lifetime) const;

    const DeviceTable& devices_;
    const EndOf endOf_;
    const BootTime now_;
    const std::chrono::microseconds keepFor_;
    std::unordered_map<DeviceUuid, std::vector<Hold>> planned_;
};

} // namespace genv::core
