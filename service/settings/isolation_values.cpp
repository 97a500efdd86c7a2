// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/isolation_values.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace genv::service {

namespace {

using core::ErrorCode;
using core::fail;
using core::IsolationMode;

constexpr std::string_view systemUsers = "system";

constexpr char quote = '"';

// Splits a value at blanks, except between double quotes: a name of a directory server may have
// blanks. A quote without an end stays in its word, which no name may contain.
std::vector<std::string> wordsOf(std::string_view value) {
    constexpr std::string_view blanks = " \t";
    std::vector<std::string> words;
    for (std::size_t at = value.find_first_not_of(blanks); at != std::string_view::npos;
         at = value.find_first_not_of(blanks)) {
        value.remove_prefix(at);
        const std::size_t close =
            value.front() == quote ? value.find(quote, 1) : std::string_view::npos;
        const bool isQuoted = close != std::string_view::npos;
        const std::size_t end =
            isQuoted ? close + 1 : std::min(value.find_first_of(blanks), value.size());
        words.emplace_back(isQuoted ? value.substr(1, close - 1) : value.substr(0, end));
        value.remove_prefix(end);
    }
    return words;
}

void requireUserName(const std::string& name) {
    const bool isName =
        !name.empty() && name.size() <= core::maxUserNameLength && name.front() != '-' &&
        name.front() != ' ' && name.find(quote) == std::string::npos &&
        std::ranges::all_of(name, [](unsigned char c) { return c >= ' ' && c != 0x7f; }) &&
        name.find_first_of(",:/*?") == std::string::npos;
    const bool isNumber = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (!isName || isNumber)
        fail(ErrorCode::InvalidArgs,
             "invalid user name \"{}\": expected \"system\" or names of users, separated by blanks",
             core::escaped(name));
}

} // namespace

IsolationMode readIsolationMode(const std::string& value) {
    for (const IsolationMode mode :
         {IsolationMode::None, IsolationMode::Watch, IsolationMode::User}) {
        if (value == core::toString(mode))
            return mode;
    }
    fail(ErrorCode::InvalidArgs, "invalid mode \"{}\": expected none, watch or user",
         core::escaped(value));
}

void readExemptions(const std::string& value, core::IsolationSettings& isolation) {
    const std::vector<std::string> words = wordsOf(value);
    if (words.empty())
        fail(ErrorCode::InvalidArgs,
             "empty value: expected \"system\" or names of users; comment the line out "
             "for the default, which is \"system\"");
    core::IsolationSettings read = isolation;
    read.exemptSystem = false;
    read.exemptUsers.clear();
    for (const std::string& word : words) {
        if (word == systemUsers) {
            read.exemptSystem = true;
            continue;
        }
        requireUserName(word);
        read.exemptUsers.push_back(word);
    }
    isolation = read;
}

std::string writeExemptions(const core::IsolationSettings& isolation) {
    std::vector<std::string> words;
    for (const std::string& name : isolation.exemptUsers)
        words.push_back(name.find(' ') == std::string::npos ? name : quote + name + quote);
    if (isolation.exemptSystem)
        words.insert(words.begin(), std::string(systemUsers));
    return fmt::format("{}", fmt::join(words, " "));
}

void readOpenDevices(const std::string& value, core::IsolationSettings& isolation) {
    const std::vector<std::string> uuids = wordsOf(value);
    for (const std::string& uuid : uuids) {
        if (!isDeviceUuid(uuid) || !(uuid.starts_with("GPU-") || uuid.starts_with("MIG-")))
            fail(
                ErrorCode::InvalidArgs,
                "invalid UUID \"{}\": expected UUIDs such as `genvctl devices --json` prints them, "
                "separated by blanks",
                core::escaped(uuid));
    }
    isolation.openDevices = uuids;
}

std::string writeOpenDevices(const core::IsolationSettings& isolation) {
    return fmt::format("{}", fmt::join(isolation.openDevices, " "));
}

} // namespace genv::service
