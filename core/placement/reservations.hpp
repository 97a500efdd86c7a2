// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices that are kept for waiting requests, by device. Reservations are valid for one moment:
// the queue computes them again for each request.
//
// A device is kept until its keeper can start. A request whose lease ends by then returns the
// device in time, so the device is not kept against it: the request passes that keeper.
#pragma once

#include "core/model/device_table.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace genv::core {

/// A waiting request for which devices are kept.
struct Keeper {
    std::uint64_t ticket = 0;
    BootTime start; ///< the earliest moment at which it can have all its devices
};

class Reservations {
  public:
    /// Keeps a share of a device, or all of it.
    void add(const DeviceUuid& device, std::optional<Bytes> share, const Keeper& keeper);

    // `leaseEnd`: when the lease of the asking request ends; unset: it has no lease.

    /// Returns whether any part of a device is kept against such a request.
    [[nodiscard]] bool contains(const DeviceUuid& device, std::optional<BootTime> leaseEnd) const;

    /// Returns whether a share (unset: all of the device) is free and not kept against such a
    /// request.
    [[nodiscard]] bool leave(const TableDevice& device, std::optional<Bytes> share,
                             std::optional<BootTime> leaseEnd) const;

    /// Returns the keepers, earliest first, that such a request passes if it gets a share of this
    /// device; none if the share fits in addition to the kept parts.
    [[nodiscard]] std::vector<std::uint64_t> passed(const TableDevice& device,
                                                    std::optional<Bytes> share,
                                                    std::optional<BootTime> leaseEnd) const;

    /// Returns the requests for which parts of a device are kept, earliest first.
    [[nodiscard]] std::vector<Keeper> keepersOf(const DeviceUuid& device) const;

  private:
    struct Reserved {
        std::optional<Bytes> share;
        Keeper keeper;
    };
    std::unordered_map<DeviceUuid, std::vector<Reserved>> reserved_;
};

} // namespace genv::core
