// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_text.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace genv::service {

namespace {

constexpr std::uint32_t kernelThreadFlag = 0x00200000; // PF_KTHREAD

template <typename Number>
bool readNumber(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

std::string_view takeWord(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(word.size());
    return word;
}

std::string_view takeUntilNul(std::string_view& text) {
    const std::string_view taken = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

// Parses the line of a status file that has four ids after this start.
std::optional<std::array<std::uint32_t, 4>> parseIds(std::string_view text,
                                                     std::string_view start) {
    // The name comes first. The kernel escapes it, so it cannot forge a line.
    const std::size_t line = text.find(start);
    if (line == std::string_view::npos)
        return std::nullopt;
    std::string_view rest = text.substr(line + start.size());
    std::array<std::uint32_t, 4> ids{};
    for (std::uint32_t& id : ids) {
        if (!readNumber(takeWord(rest), id))
            return std::nullopt;
    }
    return ids;
}

} // namespace

std::optional<ProcStat> parseStat(std::string_view text) {
    // The command's name may contain anything, including parentheses.
    const std::size_t start = text.find('(');
    const std::size_t end = text.rfind(')');
    if (start == std::string_view::npos || end == std::string_view::npos || end < start)
        return std::nullopt;
    std::string_view rest = text.substr(end + 1);
    ProcStat stat;
    stat.command = text.substr(start + 1, end - start - 1);
    std::uint32_t flags = 0;
    for (int field = 3; field <= 22; ++field) {
        const std::string_view word = takeWord(rest);
        if (field == 9 && !readNumber(word, flags))
            return std::nullopt;
        if (field == 4 && !readNumber(word, stat.parent))
            return std::nullopt;
        if (field == 22 && !readNumber(word, stat.startTime))
            return std::nullopt;
    }
    stat.isKernelThread = (flags & kernelThreadFlag) != 0;
    return stat;
}

std::optional<core::ProcessUids> parseUids(std::string_view text) {
    const auto ids = parseIds(text, "\nUid:");
    return ids ? std::optional(core::ProcessUids{(*ids)[0], (*ids)[1], (*ids)[2], (*ids)[3]})
               : std::nullopt;
}

std::optional<ProcessGids> parseGids(std::string_view text) {
    const auto ids = parseIds(text, "\nGid:");
    return ids ? std::optional(ProcessGids{(*ids)[0], (*ids)[1], (*ids)[2], (*ids)[3]})
               : std::nullopt;
}

std::optional<core::EnvironmentHint> parseEnvironmentHint(std::string_view text) {
    constexpr std::string_view idName = "GENV_ENVIRONMENT_ID=";
    constexpr std::string_view stampName = "GENV_ENVIRONMENT_CREATED=";
    std::optional<std::string_view> id;
    std::optional<std::string_view> stamp;
    while (!text.empty() && !(id && stamp)) {
        const std::string_view entry = takeUntilNul(text);
        if (!id && entry.starts_with(idName))
            id = entry.substr(idName.size());
        else if (!stamp && entry.starts_with(stampName))
            stamp = entry.substr(stampName.size());
    }
    if (!id || id->size() > core::maxNameLength)
        return std::nullopt;
    core::EnvironmentHint hint{std::string(*id), std::nullopt};
    if (!stamp || stamp->empty())
        return hint;
    std::uint64_t microseconds = 0;
    if (!readNumber(*stamp, microseconds))
        return std::nullopt;
    hint.created = core::fromMicroseconds(microseconds);
    return hint;
}

std::vector<std::string> splitArguments(std::string_view text) {
    std::vector<std::string> arguments;
    while (!text.empty())
        arguments.emplace_back(takeUntilNul(text));
    return arguments;
}

std::size_t countPidNamespaces(std::string_view text) {
    constexpr std::string_view key = "\nNSpid:";
    const std::size_t line = text.find(key);
    if (line == std::string_view::npos)
        return 1;
    std::string_view rest = text.substr(line + key.size());
    std::size_t count = 0;
    while (!takeWord(rest).empty())
        ++count;
    return count;
}

std::optional<int> parseDescriptorPid(std::string_view text) {
    constexpr std::string_view key = "\nPid:\t";
    const std::size_t line = text.find(key);
    if (line == std::string_view::npos)
        return std::nullopt;
    int pid = 0;
    std::from_chars(text.data() + line + key.size(), text.data() + text.size(), pid);
    return pid;
}

} // namespace genv::service
