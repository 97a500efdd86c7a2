// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/strategy.hpp"

#include "core/model/visible_devices.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace genv::ctl {

namespace {

constexpr std::array strategyNames{
    std::pair{std::string_view("most-free"), Strategy::MostFree},
    std::pair{std::string_view("least-free"), Strategy::LeastFree},
    std::pair{std::string_view("pack"), Strategy::LeastFree},
    std::pair{std::string_view("memory"), Strategy::Memory},
    std::pair{std::string_view("order"), Strategy::Order},
};

std::string inSmallLetters(std::string text) {
    for (char& c : text)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

bool isOfModel(const Device& device, const std::optional<std::string>& model) {
    return !model || inSmallLetters(device.model).find(inSmallLetters(*model)) != std::string::npos;
}

// Returns the memory that no attachment holds and that is not unaccounted for. An attachment
// without a share holds all memory.
std::uint64_t freeBytesOf(const Device& device, const remote::HostState& host) {
    std::uint64_t held = host.unaccountedBytes(device);
    for (const Attachment& attachment : host.attachments) {
        if (attachment.device == device.index)
            held += std::min(attachment.shareBytes.value_or(device.totalMemoryBytes),
                             device.totalMemoryBytes);
    }
    return device.totalMemoryBytes - std::min(held, device.totalMemoryBytes);
}

bool isAvailableFor(const WantedDevices& wanted, const Device& device,
                    const remote::HostState& host) {
    return wanted.shareBytes ? !host.lost.contains(device.index) &&
                                   freeBytesOf(device, host) >= *wanted.shareBytes
                             : host.isAvailable(device);
}

HostRoom roomAmong(const WantedDevices& wanted, const remote::HostState& host, bool instances) {
    HostRoom room;
    std::size_t available = 0;
    for (const Device& device : host.devices) {
        if (core::isInstanceUuid(device.uuid) != instances || !isOfModel(device, wanted.model) ||
            device.totalMemoryBytes < wanted.shareBytes.value_or(0))
            continue;
        ++room.matching;
        if (!isAvailableFor(wanted, device, host))
            continue;
        ++available;
        if (!wanted.shareBytes && !host.isFree(device))
            continue; // the host gives it last, with a warning
        ++room.free;
        const std::uint64_t bytes = freeBytesOf(device, host);
        room.freeBytes += bytes;
        room.maxFreeBytesOnOne = std::max(room.maxFreeBytesOnOne, bytes);
    }
    room.servesEver = room.matching >= wanted.count;
    room.hasFree = (wanted.overSubscribe ? room.matching : room.free) >= wanted.count;
    room.servesNow = (wanted.overSubscribe ? room.matching : available) >= wanted.count;
    return room;
}

// A greater value is better.
using Worth = std::pair<std::uint64_t, std::uint64_t>;

Worth worthOf(Strategy strategy, const HostRoom& room) {
    switch (strategy) {
    case Strategy::MostFree:
        return {room.free, room.freeBytes};
    case Strategy::LeastFree:
        return {~std::uint64_t{room.free}, ~room.freeBytes};
    case Strategy::Memory:
        return {room.maxFreeBytesOnOne, room.free};
    case Strategy::Order:
        break;
    }
    return {};
}

} // namespace

std::optional<Strategy> strategyNamed(std::string_view name) {
    for (const auto& [known, strategy] : strategyNames) {
        if (name == known)
            return strategy;
    }
    return std::nullopt;
}

HostRoom roomFor(const WantedDevices& wanted, const remote::HostState& host) {
    const HostRoom gpus = roomAmong(wanted, host, false);
    const HostRoom instances = roomAmong(wanted, host, true);
    // Prefers whole GPUs, as the service does.
    const auto rank = [](const HostRoom& room) {
        return std::pair(room.servesNow, room.servesEver);
    };
    return rank(instances) > rank(gpus) ? instances : gpus;
}

std::vector<std::size_t> inOrder(Strategy strategy, const std::vector<HostRoom>& rooms) {
    std::vector<std::size_t> order(rooms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A host that would give a device in use outside genv comes last, unless the user chose the
    // order.
    const auto rank = [&](const HostRoom& room) {
        const bool isGood = strategy == Strategy::Order || room.hasFree || !room.servesNow;
        return std::pair(isGood, worthOf(strategy, room));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return rank(rooms[one]) > rank(rooms[other]);
    });
    return order;
}

} // namespace genv::ctl
