// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/drm_nodes.hpp"

#include "service/gpu/device_nodes.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace genv::service {

namespace {

constexpr std::string_view nvidiaVendor = "0x10de";
constexpr std::string_view nvidiaDriver = "nvidia";

std::string firstLine(const std::filesystem::path& file) {
    std::string line;
    std::getline(std::ifstream(file) >> std::ws, line);
    return line;
}

// Returns whether this is a node: "card0" or "renderD128". The folder also has the connectors of a
// card, such as "card0-DP-1".
bool isNodeName(std::string_view name) {
    for (const std::string_view prefix : {"card", "renderD"}) {
        if (name.starts_with(prefix) && name.size() > prefix.size())
            return std::ranges::all_of(name.substr(prefix.size()),
                                       [](char c) { return c >= '0' && c <= '9'; });
    }
    return false;
}

// Parses "226:128".
std::optional<core::DeviceNode> parseNode(const std::string& text) {
    std::istringstream stream(text);
    core::DeviceNode node;
    char colon = 0;
    if (stream >> node.major >> colon >> node.minor && colon == ':' &&
        stream.peek() == std::istringstream::traits_type::eof() && node.major <= maxNodeMajor &&
        node.minor <= maxNodeMinor)
        return node;
    return std::nullopt;
}

} // namespace

std::vector<core::DriverNode> findDrmNodes(const std::filesystem::path& sys) {
    std::vector<core::DriverNode> nodes;
    std::error_code error;
    for (std::filesystem::directory_iterator it(sys / "class/drm", error), end; !error && it != end;
         it.increment(error)) {
        const std::filesystem::path device = it->path() / "device";
        std::error_code missing;
        const auto driver = std::filesystem::read_symlink(device / "driver", missing).filename();
        const auto address = std::filesystem::canonical(device, missing).filename().string();
        const auto node = parseNode(firstLine(it->path() / "dev"));
        if (!missing && isNodeName(it->path().filename().native()) && node &&
            driver == nvidiaDriver && firstLine(device / "vendor") == nvidiaVendor &&
            isPciAddress(address))
            nodes.push_back({*node, it->path().filename().string(), false, address});
    }
    std::ranges::sort(nodes, {}, &core::DriverNode::node);
    return nodes;
}

} // namespace genv::service
