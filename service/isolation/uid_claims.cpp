// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/uid_claims.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <sstream>

namespace genv::service::isolation {

namespace {

constexpr core::Uid noUid = std::numeric_limits<core::Uid>::max();
constexpr core::Uid usualUidMin = 1000;
constexpr core::Uid largestUidMin = 60'000; // a larger value would classify users as system users

std::vector<std::string> fieldsOf(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ':');)
        fields.push_back(field);
    if (!line.empty() && line.back() == ':')
        fields.emplace_back();
    return fields;
}

// Parses a number as shadow's programs do, including 0x10 and 010, and accepts nothing else.
// Missing a line that they accept would hide that two users share uids.
std::optional<std::uint64_t> parseShadowNumber(const std::string& text) {
    if (text.empty() || text.find('-') != std::string::npos)
        return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 0);
    if (errno != 0 || *end != '\0' || end == text.c_str())
        return std::nullopt;
    return number;
}

std::optional<SubordinateUids> parseSubuidLine(const std::string& line) {
    const std::vector<std::string> fields = fieldsOf(line);
    if (fields.size() != 3 || fields[0].empty())
        return std::nullopt;
    const auto first = parseShadowNumber(fields[1]);
    const auto count = parseShadowNumber(fields[2]);
    if (!first || !count || *count == 0 || *first >= noUid || *count > noUid - *first)
        return std::nullopt;
    return SubordinateUids{
        fields[0], {static_cast<core::Uid>(*first), static_cast<core::Uid>(*first + *count - 1)}};
}

} // namespace

std::vector<SubordinateUids> parseSubuid(const std::string& text,
                                         std::vector<std::string>& complaints) {
    std::vector<SubordinateUids> lines;
    std::istringstream stream(text);
    std::size_t number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        if (line.empty() || line.front() == '#')
            continue;
        if (const auto parsed = parseSubuidLine(line))
            lines.push_back(*parsed);
        else
            complaints.push_back(fmt::format(
                "/etc/subuid:{}: invalid line \"{}\": expected NAME:FIRST:COUNT; it has no effect",
                number, core::escaped(line)));
    }
    return lines;
}

core::Uid parseUidMin(const std::string& text, std::vector<std::string>& complaints) {
    core::Uid found = usualUidMin;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string key;
        std::string value;
        if (!(words >> key) || key != "UID_MIN")
            continue;
        words >> value;
        const auto number = parseShadowNumber(value);
        if (number && *number <= largestUidMin) {
            found = static_cast<core::Uid>(*number);
        } else {
            complaints.push_back(fmt::format("/etc/login.defs: invalid UID_MIN \"{}\": expected at "
                                             "most {}; system users are those below {}",
                                             core::escaped(value), largestUidMin, usualUidMin));
            found = usualUidMin;
        }
    }
    return found;
}

std::vector<core::Uid> parsePasswdUids(const std::string& text) {
    std::vector<core::Uid> uids;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        const std::vector<std::string> fields = fieldsOf(line);
        if (fields.size() < 4 || fields[0].empty())
            continue;
        if (const auto uid = parseUid(fields[2]))
            uids.push_back(*uid);
    }
    return uids;
}

std::optional<core::Uid> parseUid(const std::string& digits) {
    core::Uid uid = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, uid);
    if (digits.empty() || error != std::errc() || stop != end || uid == noUid)
        return std::nullopt;
    return uid;
}

} // namespace genv::service::isolation
