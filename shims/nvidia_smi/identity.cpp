// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/identity.hpp"

#include "shims/nvidia_smi/line_text.hpp"
#include "shims/nvidia_smi/real_tool.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace genv::shims::nvidia_smi {

namespace {

// A longer number is a serial number.
constexpr std::size_t maxIndexLength = 4;

using BusAddress = std::array<unsigned, 4>; // domain, bus, device, function

// Parses a PCI address. The domain may have four or eight digits, or be missing. Addresses are
// compared as numbers.
std::optional<BusAddress> parseBusId(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    std::vector<std::string_view> parts = split(text.substr(0, dot), ":");
    if (parts.size() == 2)
        parts.insert(parts.begin(), "0");
    parts.push_back(text.substr(dot + 1));
    BusAddress address{};
    if (parts.size() != address.size())
        return std::nullopt;
    for (std::size_t i = 0; i < address.size(); ++i) {
        const char* end = parts[i].data() + parts[i].size();
        const auto [stopped, error] = std::from_chars(parts[i].data(), end, address[i], 16);
        if (error != std::errc() || stopped != end)
            return std::nullopt;
    }
    return address;
}

const VisibleDevice* findByIndex(const View& view, std::uint64_t index) {
    const auto device = std::find_if(view.begin(), view.end(), [&](const VisibleDevice& candidate) {
        return candidate.index == index;
    });
    return device == view.end() ? nullptr : &*device;
}

// Returns the UUID of the visible GPU with this UUID or with this instance.
std::string gpuOf(const Seen& seen, std::string_view uuid) {
    for (const SeenGpu& gpu : seen.gpus()) {
        const bool hasInstance =
            std::any_of(gpu.instances.begin(), gpu.instances.end(),
                        [&](const SeenInstance& instance) { return instance.uuid == uuid; });
        if (hasInstance || gpu.uuid == uuid)
            return gpu.uuid;
    }
    return {};
}

std::string uuidOfName(std::string_view name, const View& view, const Seen& seen,
                       const std::function<std::vector<GpuIdentity>()>& ask) {
    const auto number = parseNumber(name);
    if (number && name.size() <= maxIndexLength) {
        const VisibleDevice* device = findByIndex(view, *number);
        if (device != nullptr)
            return gpuOf(seen, device->uuid);
        const SeenGpu* gpu = seen.byIndex(*number); // has attached instances
        return gpu == nullptr ? std::string() : gpu->uuid;
    }
    if (startsWith(name, "GPU-") || startsWith(name, "MIG-"))
        return gpuOf(seen, name);
    if (!number && !parseBusId(name))
        return {};
    const std::vector<GpuIdentity> identities = ask();
    for (const GpuIdentity& identity : identities) {
        if (number && identity.serial == name)
            return gpuOf(seen, identity.uuid);
    }
    return gpuOf(seen, uuidOf(identities, name).value_or(std::string()));
}

} // namespace

std::vector<GpuIdentity> parseIdentities(std::string_view text) {
    std::vector<GpuIdentity> identities;
    for (const std::string_view line : split(text, "\n")) {
        const std::vector<std::string_view> cells = split(line, ",");
        if (cells.size() == 3)
            identities.push_back({std::string(trimmed(cells[0])), std::string(trimmed(cells[1])),
                                  std::string(trimmed(cells[2]))});
    }
    return identities;
}

std::vector<GpuIdentity> askIdentities(const std::string& program,
                                       const std::vector<std::string>& uuids) {
    std::string list;
    for (const std::string& uuid : uuids)
        list += (list.empty() ? "" : ",") + uuid;
    return parseIdentities(outputOf(
        program, {"--query-gpu=uuid,pci.bus_id,serial", "--format=csv,noheader", "--id=" + list}));
}

std::optional<std::string> uuidOf(const std::vector<GpuIdentity>& identities,
                                  std::string_view busId) {
    const auto wanted = parseBusId(trimmed(busId));
    if (!wanted)
        return std::nullopt;
    for (const GpuIdentity& identity : identities) {
        if (parseBusId(identity.busId) == wanted)
            return identity.uuid;
    }
    return std::nullopt;
}

ChosenDevices choose(std::string_view list, const View& view, const Seen& seen,
                     const std::function<std::vector<GpuIdentity>()>& ask) {
    ChosenDevices choice;
    for (const std::string_view part : split(list, ",")) {
        const std::string_view name = trimmed(part);
        const std::string uuid = uuidOfName(name, view, seen, ask);
        if (uuid.empty()) {
            choice.refused = name.empty() ? std::string("\"\"") : std::string(name);
            return choice;
        }
        if (std::find(choice.uuids.begin(), choice.uuids.end(), uuid) == choice.uuids.end())
            choice.uuids.push_back(uuid);
    }
    return choice;
}

std::string indicesOf(const View& view) {
    std::string list;
    for (const VisibleDevice& device : view)
        list += (list.empty() ? "" : ",") + std::to_string(device.index);
    return list;
}

} // namespace genv::shims::nvidia_smi
