// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/docker/gpu_request.hpp"

#include "shims/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace genv::shims {

namespace {

constexpr std::string_view cdiKind = "nvidia.com/gpu";

// The value of --gpus. It names either a count or devices; its other parts are kept unchanged.
struct Request {
    std::optional<std::uint64_t> count;
    std::optional<std::vector<std::string>> devices;
    std::vector<std::string> others; // driver, capabilities, options
};

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuseUnreadable(const std::string& value) {
    throw RefusedRequest(fmt::format("invalid value \"{}\" of --gpus", printable(value)),
                         "Expected all, a number, or '\"device=0,1\"' with both kinds of quotes.");
}

std::string listOf(const AttachedDevices& attached) {
    if (attached.devices.empty())
        return "No device is attached. \"genv attach\" attaches devices.";
    std::string list;
    for (const VisibleDevice& device : attached.devices)
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", device.index,
                            printable(device.uuid));
    return "Attached devices: " + list + ".";
}

// As in docker, -1 means all devices.
std::uint64_t readCount(const std::string& text, const std::string& value) {
    if (text == "all" || text == "-1")
        return all;
    const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc{} || end != digits.data() + digits.size())
        refuseUnreadable(value);
    return count;
}

std::vector<std::string> splitList(const std::string& list) {
    std::vector<std::string> items;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t comma = std::min(list.find(',', begin), list.size());
        items.push_back(list.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return items;
}

Request readRequest(const std::string& value) {
    const auto fields = splitFields(value);
    if (!fields)
        refuseUnreadable(value);
    Request request;
    for (const std::string& field : *fields) {
        const std::size_t equals = field.find('=');
        const std::string key = field.substr(0, equals);
        const std::string rest = equals == std::string::npos ? "" : field.substr(equals + 1);
        if (equals == std::string::npos && request.devices) {
            request.devices->push_back(field); // device=0,1 without the inner quotes
        } else if (equals == std::string::npos || key == "count") {
            if (request.count)
                refuseUnreadable(value);
            request.count = readCount(equals == std::string::npos ? field : rest, value);
        } else if (key == "device") {
            if (request.devices)
                refuseUnreadable(value);
            request.devices = splitList(rest);
        } else {
            request.others.push_back(field);
        }
    }
    if (request.count && request.devices)
        refuseUnreadable(value);
    if (!request.devices && !request.count)
        request.count = 1; // docker's default if there are other keys
    return request;
}

bool isPrefix(std::string_view prefix, std::string_view text) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return prefix.size() <= text.size() &&
           std::equal(prefix.begin(), prefix.end(), text.begin(),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

// Finds an attached device by its index, its UUID, or the beginning of a UUID that no other
// attached device shares.
const VisibleDevice& resolve(const std::string& name, const AttachedDevices& attached) {
    std::uint32_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool isIndex = error == std::errc{} && end == name.data() + name.size();
    const bool isUuid = name.size() > 4 && (isPrefix("GPU-", name) || isPrefix("MIG-", name));
    const VisibleDevice* found = nullptr;
    for (const VisibleDevice& device : attached.devices) {
        if (isIndex ? device.index != index : !isUuid || !isPrefix(name, device.uuid))
            continue;
        if (found != nullptr)
            throw RefusedRequest(fmt::format("ambiguous device \"{}\": several UUIDs begin with it",
                                             printable(name)),
                                 listOf(attached));
        found = &device;
    }
    if (found != nullptr)
        return *found;
    if (name.find(':') != std::string::npos && !isUuid)
        throw RefusedRequest(
            fmt::format("cannot check device \"{}\": name the MIG instance by its UUID",
                        printable(name)),
            listOf(attached));
    throw RefusedRequest(fmt::format("Device {} is not attached to environment {}", printable(name),
                                     printable(attached.environment)),
                         listOf(attached));
}

std::vector<const VisibleDevice*> firstOf(const AttachedDevices& attached, std::uint64_t count) {
    if (count != all && count > attached.devices.size())
        throw RefusedRequest(
            fmt::format("Requested {} devices but only {} are attached to environment", count,
                        attached.devices.size()),
            "Request fewer devices, or attach more, for example with \"genv attach --index I\".");
    std::vector<const VisibleDevice*> devices;
    for (const VisibleDevice& device : attached.devices) {
        if (devices.size() < count)
            devices.push_back(&device);
    }
    return devices;
}

std::string cdiName(const VisibleDevice& device) {
    return isInstance(device.uuid) ? device.uuid : std::to_string(device.index);
}

// Returns whether the names are one of NVIDIA's words for no device.
bool meansNone(const std::vector<std::string>& names) {
    return names.size() == 1 && (names[0] == "none" || names[0] == "void");
}

std::vector<const VisibleDevice*> devicesOf(const Request& request,
                                            const AttachedDevices& attached) {
    if (request.count)
        return firstOf(attached, *request.count);
    std::vector<const VisibleDevice*> devices;
    if (meansNone(*request.devices))
        return devices;
    for (const std::string& name : *request.devices) {
        const std::string own = isCdiGpu(name) ? name.substr(name.find('=') + 1) : name;
        if (own == "all") {
            for (const VisibleDevice& device : attached.devices)
                devices.push_back(&device);
        } else {
            devices.push_back(&resolve(own, attached));
        }
    }
    return devices;
}

std::string quotedField(const std::string& field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos)
        return field;
    std::string quoted = "\"";
    for (const char c : field)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

} // namespace

std::optional<std::vector<std::string>> splitFields(std::string_view line) {
    if (line.empty() || line.find_first_of("\r\n") != std::string_view::npos)
        return std::nullopt;
    std::vector<std::string> fields;
    while (true) {
        std::string& field = fields.emplace_back();
        if (!line.starts_with('"')) {
            field = line.substr(0, line.find(','));
            if (field.find('"') != std::string::npos)
                return std::nullopt;
            line.remove_prefix(field.size());
        } else {
            std::size_t at = 1;
            for (; at < line.size(); ++at) {
                if (line[at] == '"' && (at + 1 == line.size() || line[at + 1] != '"'))
                    break;
                at += line[at] == '"' ? 1U : 0U;
                field += line[at];
            }
            if (at >= line.size())
                return std::nullopt;
            line.remove_prefix(at + 1);
        }
        if (line.empty())
            return fields;
        if (line[0] != ',')
            return std::nullopt;
        line.remove_prefix(1);
    }
}

std::string dockerGpus(const std::string& value, const AttachedDevices& attached) {
    const Request request = readRequest(value);
    if (request.devices && meansNone(*request.devices))
        return value;
    const bool isCdi = std::find(request.others.begin(), request.others.end(), "driver=cdi") !=
                       request.others.end();
    std::string names;
    for (const VisibleDevice* device : devicesOf(request, attached)) {
        names += names.empty() ? "" : ",";
        names += isCdi ? fmt::format("{}={}", cdiKind, cdiName(*device)) : device->uuid;
    }
    std::string rewritten = names.empty() ? "0" : quotedField("device=" + names);
    for (const std::string& other : request.others)
        (rewritten += ',') += quotedField(other);
    return rewritten;
}

std::vector<std::string> cdiGpus(const std::string& value, const AttachedDevices& attached) {
    std::vector<std::string> names;
    for (const VisibleDevice* device : devicesOf(readRequest(value), attached))
        names.push_back(fmt::format("{}={}", cdiKind, cdiName(*device)));
    return names;
}

bool isCdiGpu(std::string_view device) {
    const std::string_view kind = device.substr(0, device.find('='));
    return kind.size() < device.size() &&
           (kind == cdiKind || (kind.ends_with(cdiKind) &&
                                kind[kind.size() - cdiKind.size() - 1] == '.')); // management.
}

std::vector<std::string> cdiDevices(const std::string& device, const AttachedDevices& attached) {
    const std::string kind = device.substr(0, device.find('='));
    const std::string name = device.substr(kind.size() + 1);
    std::vector<std::string> names;
    if (name == "all") {
        for (const VisibleDevice& each : attached.devices)
            names.push_back(fmt::format("{}={}", kind, cdiName(each)));
        return names;
    }
    const VisibleDevice& found = resolve(name, attached);
    // The user's word is a name in the specification, unless it is only a part of one.
    const bool isName = name == found.uuid;
    names.push_back(fmt::format("{}={}", kind, isName ? name : cdiName(found)));
    return names;
}

} // namespace genv::shims
