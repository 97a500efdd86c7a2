// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/settings/isolation_values.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "service/gpu/nvml_protocol.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace genv::service {

namespace {

using core::ErrorCode;
using core::fail;
using core::IsolationMode;

constexpr std::string_view systemUsers = "system";
constexpr std::size_t maxUserName = 256;

std::vector<std::string> wordsOf(const std::string& value) {
    std::istringstream stream(value);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

void requireUserName(const std::string& name) {
    const bool isName =
        name.size() <= maxUserName && name.front() != '-' &&
        std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c != 0x7f; }) &&
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
    std::vector<std::string> words = isolation.exemptUsers;
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
