// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of a device and of an environment, and copies in which one is another, or is
// missing.
#pragma once

#include "client/libgenv/properties.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::client {

inline Properties without(const Properties& properties, std::string_view name) {
    Properties rest;
    for (const auto& [other, value] : properties) {
        if (other != name)
            rest.add(other, value);
    }
    return rest;
}

inline Properties changed(const Properties& properties, std::string_view name, Value value) {
    Properties all = without(properties, name);
    all.add(name, std::move(value));
    return all;
}

inline Properties plainDevice(std::uint32_t index) {
    return {{"Index", Value(index)},
            {"UUID", Value(std::string("GPU-a"))},
            {"Model", Value(std::string("A100"))},
            {"TotalMemory", Value(std::uint64_t{1000})},
            {"AvailableMemory", Value(std::uint64_t{600})},
            {"Attachments", Value(BusAttachments{})},
            {"LockedBy", Value(std::string())},
            {"Health", Value(std::string("ok"))},
            {"UsedMemory", Value(std::uint64_t{10})},
            {"Utilization", Value(std::uint32_t{93})},
            {"Temperature", Value(std::int32_t{-1})},
            {"PowerUsage", Value(std::uint64_t{250500})},
            {"SampledAt", Value(std::uint64_t{9})},
            {"PCIAddress", Value(std::string())},
            {"PowerLimit", Value(std::numeric_limits<std::uint32_t>::max())},
            {"ReservedFor", Value(std::string())},
            {"Free", Value(true)},
            {"UnaccountedMemory", Value(std::uint64_t{0})},
            {"RefusedOpens", Value(std::uint64_t{0})}};
}

inline Properties plainEnvironment(const std::string& id, std::uint64_t created) {
    return {{"Id", Value(id)},
            {"Uid", Value(std::uint32_t{1001})},
            {"User", Value(std::string("alice"))},
            {"Name", Value(std::string())},
            {"Created", Value(created)},
            {"Gpus", Value(std::uint32_t{0})},
            {"GpuMemory", Value(std::uint64_t{0})},
            {"Processes", Value(std::vector<std::uint32_t>{7})},
            {"Kernels", Value(std::vector<std::string>{})},
            {"Devices", Value(std::vector<std::uint32_t>{0, 3})},
            {"Expires", Value(std::uint64_t{0})},
            {"Lingering", Value(false)},
            {"Parent", Value(std::string())},
            {"OverSubscribable", Value(false)},
            {"Preemptible", Value(std::string("no"))},
            {"Attached", Value(BusAttached{{0, 0}, {3, 0}})},
            {"Job", Value(std::string())},
            {"State", Value(std::string("active"))},
            {"ParkedDevices", Value(BusAttached{})},
            {"ParkedMemory", Value(std::uint64_t{0})},
            {"ParkedSince", Value(std::uint64_t{0})},
            {"ParkedReason", Value(std::string())},
            {"TakenBy", Value(std::string())},
            {"ParkingProgress", Value(BusProgress{0, 0})},
            {"ParkingProblem", Value(std::string())}};
}

} // namespace genv::client
