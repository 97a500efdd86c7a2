// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/host_names.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace genv::monitor {

namespace {

constexpr std::chrono::minutes callInterval{1};
constexpr std::size_t maxNameLength = 253;
constexpr std::size_t maxLabelLength = 63;

bool isLetterOrDigit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isLabel(std::string_view text) {
    // Some machines have underscores in their names, although DNS has none for hosts.
    return !text.empty() && text.size() <= maxLabelLength && text.front() != '-' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return isLetterOrDigit(c) || c == '-' || c == '_'; });
}

// Names are compared in lower case and without the dot that ends an absolute name.
std::string normalized(std::string_view name) {
    if (!name.empty() && name.back() == '.')
        name.remove_suffix(1);
    std::string result(name);
    for (char& c : result)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

bool isAddress(int family, std::string_view text) {
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    return inet_pton(family, std::string(text).c_str(), parsed.data()) == 1;
}

// Returns the host of "HOST" and "HOST:PORT"; nothing for other texts.
std::optional<std::string_view> withoutPort(std::string_view header) {
    const std::size_t start = header.starts_with('[') ? header.find(']') : 0;
    if (start == std::string_view::npos)
        return std::nullopt;
    const std::size_t colon = header.find(':', start);
    const std::string_view host = header.substr(0, colon);
    const std::string_view port =
        colon == std::string_view::npos ? std::string_view{} : header.substr(colon + 1);
    if (!std::all_of(port.begin(), port.end(), isDigit))
        return std::nullopt;
    return host;
}

// Whether this is "[ADDRESS]" or "[ADDRESS%ZONE]".
bool isBracketedAddress(std::string_view host) {
    if (!host.starts_with('[') || !host.ends_with(']'))
        return false;
    host = host.substr(1, host.size() - 2);
    return isAddress(AF_INET6, host.substr(0, host.find('%')));
}

} // namespace

bool isHostName(std::string_view text) {
    if (text.empty() || text.size() > maxNameLength)
        return false;
    if (text.back() == '.')
        text.remove_suffix(1);
    for (std::size_t dot = 0; (dot = text.find('.')) != std::string_view::npos;) {
        if (!isLabel(text.substr(0, dot)))
            return false;
        text.remove_prefix(dot + 1);
    }
    return isLabel(text);
}

std::vector<std::string> namesOfThisMachine() {
    std::array<char, maxNameLength + 2> buffer{};
    if (gethostname(buffer.data(), buffer.size() - 1) != 0)
        return {};
    const std::string name = buffer.data();
    std::vector<std::string> names{name, name.substr(0, name.find('.'))};
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &hints, &found) == 0) {
        const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
        if (found->ai_canonname != nullptr)
            names.emplace_back(found->ai_canonname);
    }
    return names;
}

HostNames::HostNames(const std::vector<std::string>& names, OwnNames ownNames)
    : ownNames_(std::move(ownNames)), given_{"localhost"} {
    for (const std::string& name : names)
        given_.insert(normalized(name));
}

bool HostNames::accept(std::string_view header) {
    const std::optional<std::string_view> host = withoutPort(header);
    if (!host)
        return false;
    if (isBracketedAddress(*host) || isAddress(AF_INET, *host))
        return true;
    if (!isHostName(*host))
        return false;
    const std::string name = normalized(*host);
    return given_.contains(name) || isOwn(name);
}

bool HostNames::isKnown(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return own_.contains(name);
}

bool HostNames::isOwn(const std::string& name) {
    // A slow name service delays no request that needs no answer of it.
    if (isKnown(name))
        return true;
    const std::lock_guard asking(asking_);
    if (isKnown(name))
        return true;
    if (std::chrono::steady_clock::now() < nextCall_)
        return false;
    std::set<std::string> names;
    for (const std::string& own : ownNames_()) {
        if (isHostName(own))
            names.insert(normalized(own));
    }
    nextCall_ = std::chrono::steady_clock::now() + callInterval;
    const std::lock_guard lock(mutex_);
    own_ = std::move(names);
    return own_.contains(name);
}

} // namespace genv::monitor
