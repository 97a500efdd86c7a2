// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_nodes.hpp"

#include "service/gpu/device_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace genv::service {

namespace {

using core::DeviceNode;

// The kernel's list of allocated numbers assigns major 195 to the driver. Its last minors are not
// GPUs: 254 is nvidia-modeset, 255 is nvidiactl.
constexpr std::uint32_t gpuMajor = 195;
constexpr std::uint32_t maxGpuMinor = 253;
constexpr std::string_view capabilitiesDriver = "nvidia-caps";

// Parses a decimal integer of at most `max`.
std::optional<std::uint32_t> toNumber(std::string_view text, std::uint32_t max) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > max)
        return std::nullopt;
    return number;
}

// Returns the major number of this driver from the character devices in /proc/devices.
std::optional<std::uint32_t> findMajor(const std::filesystem::path& devices,
                                       std::string_view driver) {
    std::ifstream file(devices);
    bool isCharacter = false;
    for (std::string line; std::getline(file, line);) {
        if (line.ends_with(':'))
            isCharacter = line == "Character devices:";
        const std::size_t number = std::min(line.find_first_not_of(' '), line.size());
        const std::size_t space = std::min(line.find(' ', number), line.size());
        const std::string_view text = line;
        if (isCharacter && space < text.size() && text.substr(space + 1) == driver)
            return toNumber(text.substr(number, space - number), maxNodeMajor);
    }
    return std::nullopt;
}

// Returns the minor number of a capability's node from its file, which has the form
// "DeviceFileMinor: 12".
std::optional<std::uint32_t> findMinor(const std::filesystem::path& access) {
    constexpr std::string_view key = "DeviceFileMinor: ";
    std::ifstream file(access);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key))
            return toNumber(std::string_view(line).substr(key.size()), maxNodeMinor);
    }
    return std::nullopt;
}

} // namespace

NvmlNodes::NvmlNodes(std::filesystem::path proc) : proc_(std::move(proc)) {}

std::vector<core::DriverNode> NvmlNodes::ofDriver() const {
    std::vector<core::DriverNode> nodes{{{gpuMajor, 255}, "nvidiactl"},
                                        {{gpuMajor, 254}, "nvidia-modeset"}};
    const auto major = findMajor(proc_ / "devices", capabilitiesDriver);
    const auto capabilities = proc_ / "driver/nvidia/capabilities";
    for (const auto& [file, name] :
         {std::pair("fabric-imex-mgmt", "fabric management"),
          std::pair("mig/config", "MIG configuration"), std::pair("mig/monitor", "MIG monitor")}) {
        const auto minor = findMinor(capabilities / file);
        if (major && minor)
            nodes.push_back({{*major, *minor}, name, true});
    }
    return nodes;
}

std::vector<DeviceNode> NvmlNodes::forEverybody() const {
    std::vector<DeviceNode> nodes;
    for (const core::DriverNode& each : ofDriver()) {
        if (each.isOpen)
            nodes.push_back(each.node);
    }
    return nodes;
}

std::vector<DeviceNode> NvmlNodes::ofGpu(std::uint32_t minor) const {
    if (minor > maxGpuMinor)
        return {};
    return {{gpuMajor, minor}};
}

std::vector<DeviceNode> NvmlNodes::ofInstance(std::uint32_t minor, std::uint32_t gpuInstance,
                                              std::uint32_t computeInstance) const {
    std::vector<DeviceNode> nodes = ofGpu(minor);
    const auto major = findMajor(proc_ / "devices", capabilitiesDriver);
    const auto instance = proc_ / "driver/nvidia/capabilities" / fmt::format("gpu{}/mig", minor) /
                          fmt::format("gi{}", gpuInstance);
    const auto gpuAccess = findMinor(instance / "access");
    const auto computeAccess =
        findMinor(instance / fmt::format("ci{}", computeInstance) / "access");
    if (nodes.empty() || !major || !gpuAccess || !computeAccess)
        return {};
    nodes.push_back({*major, *gpuAccess});
    nodes.push_back({*major, *computeAccess});
    return nodes;
}

} // namespace genv::service
