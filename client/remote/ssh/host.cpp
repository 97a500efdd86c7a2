// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/ssh/host.hpp"

#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace genv::remote {

namespace {

constexpr std::size_t maxPartLength = 255; ///< the maximum length of a DNS name
constexpr std::size_t maxFileSize = std::size_t{1} << 20;
constexpr std::size_t maxHosts = 4096;

constexpr std::string_view alphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

// Whether ssh takes the word literally, in every shell and after every option.
bool isPlain(std::string_view text, std::string_view others) {
    return !text.empty() && text.size() <= maxPartLength && text.front() != '-' &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return alphanumeric.find(c) != std::string_view::npos ||
                      others.find(c) != std::string_view::npos;
           });
}

[[noreturn]] void refuse(std::string_view text, const char* why) {
    throw InvalidHost(fmt::format("\"{}\": {}", core::printable(text), why));
}

std::uint16_t readPort(std::string_view text, std::string_view whole) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0)
        refuse(whole, "invalid port: expected 1-65535");
    return port;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == std::string_view::npos
               ? std::string_view{}
               : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

void add(std::vector<Host>& hosts, Host host) {
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end())
        return;
    if (hosts.size() == maxHosts)
        throw InvalidHost(fmt::format("more than {} hosts are named", maxHosts));
    hosts.push_back(std::move(host));
}

} // namespace

std::string Host::label() const {
    if (!port)
        return name;
    const bool isIPv6 = name.find(':') != std::string::npos;
    return fmt::format(fmt::runtime(isIPv6 ? "[{}]:{}" : "{}:{}"), name, *port);
}

Host readHost(std::string_view text) {
    Host host;
    std::string_view rest = text;
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
        const std::string_view user = rest.substr(0, at);
        if (!isPlain(user, "._-+$@"))
            refuse(text, "invalid user name before the @");
        host.user = user;
        rest.remove_prefix(at + 1);
    }
    if (rest.starts_with('[')) {
        const std::size_t end = rest.find(']');
        if (end == std::string_view::npos || (end + 1 < rest.size() && rest[end + 1] != ':'))
            refuse(text, "invalid address in brackets: expected [ADDRESS] or [ADDRESS]:PORT");
        if (end + 1 < rest.size())
            host.port = readPort(rest.substr(end + 2), text);
        rest = rest.substr(1, end - 1);
    } else if (std::count(rest.begin(), rest.end(), ':') == 1) {
        const std::size_t colon = rest.find(':');
        host.port = readPort(rest.substr(colon + 1), text);
        rest = rest.substr(0, colon);
    }
    if (!isPlain(rest, "._-:%"))
        refuse(text, "invalid host: expected [user@]host[:port]");
    host.name = rest;
    return host;
}

std::vector<Host> readHosts(std::string_view text) {
    std::vector<Host> hosts;
    for (;;) {
        const std::size_t comma = text.find(',');
        add(hosts, readHost(trimmed(text.substr(0, comma))));
        if (comma == std::string_view::npos)
            return hosts;
        text.remove_prefix(comma + 1);
    }
}

std::vector<Host> readHostFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(maxFileSize + 1, '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof())
        throw InvalidHost(fmt::format("{} cannot be read", core::printable(path)));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > maxFileSize)
        throw InvalidHost(fmt::format("{} is longer than 1 MiB", core::printable(path)));
    std::vector<Host> hosts;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (const std::string_view host = trimmed(line.substr(0, line.find('#'))); !host.empty())
            add(hosts, readHost(host));
    }
    if (hosts.empty())
        throw InvalidHost(fmt::format("{} names no host", core::printable(path)));
    return hosts;
}

} // namespace genv::remote
