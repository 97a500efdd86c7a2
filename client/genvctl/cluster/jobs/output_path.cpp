// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/output_path.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace genv::ctl::cluster {

namespace {

constexpr std::size_t maxSymbolWidth = 10; // as Slurm

// Removes a symbol such as "%4a" from the start of the pattern, and returns its value.
std::string takeSymbol(std::string_view& pattern, const OutputNames& names) {
    std::size_t end = 1;
    std::size_t width = 0;
    for (; end < pattern.size() && pattern[end] >= '0' && pattern[end] <= '9'; ++end)
        width = std::min(width * 10 + static_cast<std::size_t>(pattern[end] - '0'), maxSymbolWidth);
    const char symbol = end < pattern.size() ? pattern[end] : '\0';
    std::string whole(pattern.substr(0, end + 1));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
    switch (symbol) {
    case '%':
        return "%";
    case 'A':
        return fmt::format("{:0{}}", names.job, width);
    case 'a':
        return names.task ? fmt::format("{:0{}}", *names.task, width) : "4294967294";
    case 'J':
    case 'j':
        return fmt::format("{:0{}}", names.id, width);
    case 'n':
    case 's':
    case 't':
        return fmt::format("{:0{}}", 0, width);
    case 'b':
        return fmt::format("{:0{}}", names.task.value_or(0) % 10, width);
    case 'N':
        return names.node;
    case 'u':
        return names.user;
    case 'x':
        return names.name;
    default:
        return whole;
    }
}

} // namespace

std::string outputPattern(const std::string& path, bool isArray) {
    if (path.find('\\') != std::string::npos)
        throw Failure(ExitStatus::Usage, "--output: a backslash has a meaning of its own in Slurm",
                      "Name a file without one.");
    std::string pattern;
    for (std::size_t at = 0; at < path.size(); ++at) {
        if (isArray && path.compare(at, 2, "{}") == 0) {
            pattern += "%a";
            ++at;
        } else {
            pattern += path[at] == '%' ? "%%" : path.substr(at, 1);
        }
    }
    return pattern;
}

std::string outputPathOf(const std::string& pattern, const OutputNames& names) {
    std::string_view rest = pattern;
    if (rest.empty())
        rest = names.task ? "slurm-%A_%a.out" : "slurm-%j.out";
    std::string path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('%'), rest.size());
        path += rest.substr(0, end);
        rest.remove_prefix(end);
        if (!rest.empty())
            path += takeSymbol(rest, names);
    }
    return std::filesystem::path(names.folder) / path;
}

} // namespace genv::ctl::cluster
