// SPDX-License-Identifier: LGPL-2.1-or-later
// What is kept free for those who wait, by device. It belongs to one moment: the queue works it out
// anew whenever somebody asks.
//
// A device is kept until its keeper can start. A request whose lease ends by then gives it back in
// time, so nothing is kept against it: it passes that keeper.
#pragma once

#include "core/device_table.hpp"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace genv::core {

/// A waiting request for which devices are kept.
struct Keeper {
    std::uint64_t ticket = 0;
    BootTime start; ///< the earliest moment at which it can have all that it waits for
};

class Reservations {
  public:
    /// Keeps a share of a device, or all of it.
    void add(const DeviceUuid& device, std::optional<Bytes> share, const Keeper& keeper);

    // `leaseEnd`: when the lease of the request that asks ends; unset: it has none.

    /// Whether anything of a device is kept against such a request.
    [[nodiscard]] bool contains(const DeviceUuid& device, std::optional<BootTime> leaseEnd) const;

    /// Whether a share (unset: all of it) is free and not kept against such a request.
    [[nodiscard]] bool leave(const Device& device, std::optional<Bytes> share,
                             std::optional<BootTime> leaseEnd) const;

    /// The keepers, earliest first, that such a request passes when it gets a share of this device;
    /// none where it fits beside what is kept.
    [[nodiscard]] std::vector<std::uint64_t> passed(const Device& device,
                                                    std::optional<Bytes> share,
                                                    std::optional<BootTime> leaseEnd) const;

    /// Who keeps something of a device, earliest first.
    [[nodiscard]] std::vector<Keeper> keepersOf(const DeviceUuid& device) const;

  private:
    struct Reserved {
        std::optional<Bytes> share;
        Keeper keeper;
    };
    std::unordered_map<DeviceUuid, std::vector<Reserved>> reserved_;
};

} // namespace genv::core
