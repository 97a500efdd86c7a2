// SPDX-License-Identifier: LGPL-2.1-or-later
// Which of many machines a request for devices goes to: what each has of what is wanted, and in
// which order they are tried. Says nothing of how they are asked.
#pragma once

#include "client/remote/fleet/host_state.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// What is better on equal terms is the host that was named first.
enum class Strategy {
    MostFree,  ///< most matching free devices, then most memory free on them
    LeastFree, ///< fewest of them that are enough, then least memory: keeps large hosts free
    Memory,    ///< most memory free on one of them, then most of them
    Order,     ///< as they were named
};

/// "most-free", "least-free" or its other name "pack", "memory", "order".
std::optional<Strategy> strategyNamed(std::string_view name);

/// Devices as they are asked for on any host.
struct WantedDevices {
    std::uint32_t count = 0;                 ///< 0: none, and every host will do
    std::optional<std::uint64_t> shareBytes; ///< of each; unset: whole devices
    std::optional<std::string> model;        ///< part of the model's name, in any case
    bool overSubscribe = false;              ///< also those that others hold
};

/// What a host has of what is wanted: of its GPUs or of its MIG instances, which no request mixes.
struct HostRoom {
    std::size_t matching = 0;    ///< devices that could serve, now or when others give them back
    std::size_t free = 0;        ///< those of them that can serve now
    std::uint64_t freeBytes = 0; ///< on those
    std::uint64_t mostFreeBytesOnOne = 0; ///< on one of those
    bool servesNow = false;
    bool servesEver = false;

    bool operator==(const HostRoom&) const = default;
};

HostRoom roomFor(const WantedDevices& wanted, const remote::HostState& host);

/// The indices of the rooms, best first.
std::vector<std::size_t> inOrder(Strategy strategy, const std::vector<HostRoom>& rooms);

} // namespace genv::ctl
