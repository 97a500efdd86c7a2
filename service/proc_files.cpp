// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/proc_files.hpp"

#include "service/gpu/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <filesystem>
#include <string_view>

namespace genv::service {

namespace {

constexpr std::size_t mostOfStat = 4096;
constexpr std::size_t mostOfStatus = 16384;
constexpr std::size_t mostOfEnvironment = 1 << 20;
constexpr std::size_t mostOfArguments = 1 << 16;
constexpr std::size_t mostAncestors = 512;

std::string procPath(core::Pid pid, std::string_view file) {
    return fmt::format("/proc/{}/{}", pid, file);
}

template <typename Number>
bool parseNumber(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

std::string_view takeWord(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(word.size());
    return word;
}

struct Stat {
    core::Pid parent = 0;
    std::uint64_t startTime = 0;
};

// Fields 4 and 22 of proc_pid_stat(5). The command's name before them may hold anything,
// parentheses too.
std::optional<Stat> readStat(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "stat"), mostOfStat);
    if (!text)
        return std::nullopt;
    const std::size_t name = text->rfind(')');
    if (name == std::string::npos)
        return std::nullopt;
    std::string_view rest = std::string_view(*text).substr(name + 1);
    Stat stat;
    for (int field = 3; field <= 22; ++field) {
        const std::string_view word = takeWord(rest);
        if (field == 4 && !parseNumber(word, stat.parent))
            return std::nullopt;
        if (field == 22 && !parseNumber(word, stat.startTime))
            return std::nullopt;
    }
    return stat;
}

std::optional<core::ProcessUids> readUids(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "status"), mostOfStatus);
    if (!text)
        return std::nullopt;
    // The name comes first and is escaped by the kernel, so that a line of its own cannot be
    // forged.
    const std::size_t line = text->find("\nUid:");
    if (line == std::string::npos)
        return std::nullopt;
    std::string_view rest = std::string_view(*text).substr(line + 5);
    core::ProcessUids uids;
    for (core::Uid* uid : {&uids.real, &uids.effective, &uids.saved, &uids.filesystem}) {
        if (!parseNumber(takeWord(rest), *uid))
            return std::nullopt;
    }
    return uids;
}

} // namespace

std::optional<std::string> readCapped(const std::string& path, std::size_t most) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file.get() < 0)
        return std::nullopt;
    std::string text;
    std::array<char, 4096> buffer{};
    while (text.size() < most) {
        const ssize_t count =
            ::read(file.get(), buffer.data(), std::min(buffer.size(), most - text.size()));
        if (count < 0)
            return std::nullopt;
        if (count == 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
}

std::optional<core::ProcessFacts> readProcess(core::Pid pid) {
    const auto before = readStat(pid);
    const auto uids = readUids(pid);
    const auto after = readStat(pid);
    // Three reads of one process, not of two that had the same pid.
    if (!before || !uids || !after || before->startTime != after->startTime)
        return std::nullopt;
    return core::ProcessFacts{{pid, after->startTime}, *uids, after->parent};
}

std::vector<core::ProcessIdentity> readAncestors(const core::ProcessFacts& process) {
    std::vector<core::ProcessIdentity> ancestors;
    core::Pid pid = process.parent;
    std::uint64_t childStart = process.identity.startTime;
    while (pid > 1 && ancestors.size() < mostAncestors) {
        const auto stat = readStat(pid);
        // A parent is older than its child; a younger one got the pid of a parent that is gone.
        if (!stat || stat->startTime > childStart)
            break;
        ancestors.push_back({pid, stat->startTime});
        childStart = stat->startTime;
        pid = stat->parent;
    }
    return ancestors;
}

std::optional<std::string> readEnvironmentVariable(core::Pid pid, const std::string& name,
                                                   std::size_t most) {
    const auto text = readCapped(procPath(pid, "environ"), mostOfEnvironment);
    if (!text)
        return std::nullopt;
    const std::string wanted = name + "=";
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find('\0'));
        if (entry.substr(0, wanted.size()) == wanted) {
            const std::string_view value = entry.substr(wanted.size());
            return value.size() <= most ? std::optional(std::string(value)) : std::nullopt;
        }
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return std::nullopt;
}

std::vector<std::string> readArguments(core::Pid pid) {
    std::vector<std::string> arguments;
    const auto text = readCapped(procPath(pid, "cmdline"), mostOfArguments);
    if (!text)
        return arguments;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::string_view argument = rest.substr(0, rest.find('\0'));
        arguments.emplace_back(argument);
        rest.remove_prefix(std::min(argument.size() + 1, rest.size()));
    }
    return arguments;
}

std::optional<core::Uid> readUserNamespaceOwner(core::Pid pid) {
    struct stat own {};
    if (::stat("/proc/self/ns/user", &own) < 0)
        return std::nullopt;
    std::optional<core::Uid> outermost;
    Descriptor ns(::open(procPath(pid, "ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    // The kernel nests no more than 32, and shows only what lies below this service's own.
    while (ns.get() >= 0) {
        struct stat its {};
        uid_t owner = 0;
        if (::fstat(ns.get(), &its) < 0)
            return std::nullopt;
        if (its.st_ino == own.st_ino && its.st_dev == own.st_dev)
            return outermost;
        if (::ioctl(ns.get(), NS_GET_OWNER_UID, &owner) < 0)
            return std::nullopt;
        if (owner != 0)
            outermost = owner;
        ns = Descriptor(::ioctl(ns.get(), NS_GET_PARENT));
    }
    return std::nullopt;
}

bool isMpsServer(core::Pid pid) {
    const std::string link = procPath(pid, "exe");
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    if (length <= 0)
        return false;
    const std::string_view path(target.data(), static_cast<std::size_t>(length));
    if (path.substr(path.rfind('/') + 1) != "nvidia-cuda-mps-server")
        return false;
    struct stat file {};
    return ::stat(link.c_str(), &file) == 0 && file.st_uid == 0 &&
           (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::vector<core::Pid> listProcesses() {
    std::vector<core::Pid> pids;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        core::Pid pid = 0;
        if (parseNumber<core::Pid>(entry->path().filename().native(), pid))
            pids.push_back(pid);
    }
    return pids;
}

} // namespace genv::service
