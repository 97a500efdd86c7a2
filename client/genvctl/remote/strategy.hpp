// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the machine for a request: the matching devices of each host, and the order in which
// hosts are tried. Does not contact the hosts.
#pragma once

#include "client/remote/fleet/host_state.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Equal hosts are tried in the order in which they were named.
enum class Strategy {
    MostFree,  ///< most matching free devices, then most free memory on them
    LeastFree, ///< fewest free devices that suffice, then least memory: keeps large hosts free
    Memory,    ///< most free memory on one device, then most free devices
    Order,     ///< the order in which they were named
};

/// Returns the strategy named "most-free", "least-free" or its alias "pack", "memory" or "order".
std::optional<Strategy> strategyNamed(std::string_view name);

/// A request for devices in the form for any host.
struct WantedDevices {
    std::uint32_t count = 0;                 ///< 0 for no devices, so that every host is suitable
    std::optional<std::uint64_t> shareBytes; ///< of each device; unset for whole devices
    std::optional<std::string> model;        ///< a part of the model name, case-insensitive
    bool overSubscribe = false;              ///< whether devices held by others count
};

/// The devices of a host that match a request: its GPUs or its MIG instances, because a request
/// does not mix them.
struct HostRoom {
    std::size_t matching = 0;            ///< matching devices, free now or later
    std::size_t free = 0;                ///< the matching devices that are free now
    std::uint64_t freeBytes = 0;         ///< free memory on these
    std::uint64_t maxFreeBytesOnOne = 0; ///< the largest free memory on one of these
    bool servesNow = false;              ///< perhaps with devices that something outside genv uses
    bool servesEver = false;
    bool hasFree = false; ///< free devices suffice

    bool operator==(const HostRoom&) const = default;
};

HostRoom roomFor(const WantedDevices& wanted, const remote::HostState& host);

/// Returns the indices of the rooms, best first.
std::vector<std::size_t> inOrder(Strategy strategy, const std::vector<HostRoom>& rooms);

} // namespace genv::ctl
