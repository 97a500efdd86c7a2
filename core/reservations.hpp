// SPDX-License-Identifier: LGPL-2.1-or-later
// What is kept free for those who wait, by device. It belongs to one moment: the queue works it out
// anew whenever somebody asks.
#pragma once

#include "core/device_table.hpp"

#include <optional>
#include <unordered_map>

namespace genv::core {

class Reservations {
  public:
    /// Keeps a share of a device, or all of it.
    void add(const DeviceUuid& device, std::optional<Bytes> share);

    /// Whether anything of a device is kept.
    [[nodiscard]] bool contains(const DeviceUuid& device) const {
        return reserved_.contains(device);
    }

    /// Whether a share (unset: all of it) is free and not kept for somebody.
    [[nodiscard]] bool leave(const Device& device, std::optional<Bytes> share) const;

  private:
    struct Reserved {
        Bytes memory;
        bool whole = false;
    };
    std::unordered_map<DeviceUuid, Reserved> reserved_;
};

} // namespace genv::core
