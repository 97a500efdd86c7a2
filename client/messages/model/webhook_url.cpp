// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/webhook_url.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace genv::messages {

namespace {

constexpr std::size_t maxUrl = 2048;

bool startsWithScheme(std::string_view url, std::string_view scheme) {
    return url.size() > scheme.size() &&
           std::equal(scheme.begin(), scheme.end(), url.begin(), [](char wanted, char given) {
               return wanted == std::tolower(static_cast<unsigned char>(given));
           });
}

// Returns the length of "https://"; 0 for any other scheme.
std::size_t schemeLength(std::string_view url) {
    for (const std::string_view scheme : {"https://", "http://"})
        if (startsWithScheme(url, scheme))
            return scheme.size();
    return 0;
}

// The host and the port. curl also takes a backslash for a slash, so none may be there.
std::string_view authorityOf(std::string_view url) {
    url.remove_prefix(schemeLength(url));
    return url.substr(0, url.find_first_of("/?#"));
}

bool isPlainInUrl(char c) {
    return c > ' ' && c < 0x7f && std::string_view("\\\"<>^`{|}").find(c) == std::string_view::npos;
}

} // namespace

std::optional<std::string> faultOfUrl(std::string_view url) {
    if (schemeLength(url) == 0)
        return "expected a URL that begins with https:// or http://";
    if (url.size() > maxUrl)
        return "the URL is too long: expected at most 2048 characters";
    if (!std::all_of(url.begin(), url.end(), isPlainInUrl))
        return "the URL has a character that must be written as %XX";
    const std::string_view authority = authorityOf(url);
    if (authority.find('@') != std::string_view::npos)
        return "the URL has a user name: expected one without";
    if (authority.empty() || authority.front() == ':')
        return "the URL has no host";
    return std::nullopt;
}

std::string shownUrl(std::string_view url) {
    const std::size_t end = schemeLength(url) + authorityOf(url).size();
    return std::string(url.substr(0, end)) + (end < url.size() ? "/..." : "");
}

} // namespace genv::messages
