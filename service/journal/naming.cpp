// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/journal/naming.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace genv::service::journal {

namespace {

constexpr std::string_view uidWord = "uid ";

} // namespace

std::set<core::Uid> uidsIn(std::string_view line) {
    std::set<core::Uid> uids;
    for (std::size_t at = 0; (at = line.find(uidWord, at)) != std::string_view::npos;) {
        at += uidWord.size();
        core::Uid uid = 0;
        const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), uid);
        if (error == std::errc{})
            uids.insert(uid);
    }
    return uids;
}

void nameUser(std::string& line, core::Uid uid, std::string_view name) {
    if (name == std::to_string(uid))
        return;
    const std::string number = fmt::format("{}{}", uidWord, uid);
    const std::string both = fmt::format("{} ({})", core::escaped(name), uid);
    std::size_t at = line.find(number);
    while (at != std::string::npos) {
        const std::size_t end = at + number.size();
        const bool isWhole = line.find_first_of("0123456789", end) != end;
        if (isWhole)
            line.replace(at, number.size(), both);
        at = line.find(number, at + (isWhole ? both.size() : number.size()));
    }
}

} // namespace genv::service::journal
