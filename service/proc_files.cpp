// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/proc_files.hpp"

#include "service/gpu/descriptor.hpp"
#include "service/proc_text.hpp"

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

std::optional<ProcStat> readStat(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "stat"), mostOfStat);
    return text ? parseStat(*text) : std::nullopt;
}

std::optional<core::ProcessUids> readUids(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "status"), mostOfStatus);
    return text ? parseUids(*text) : std::nullopt;
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
        text.append(buffer.data(), static_cast<std::size_t>(count));
        // /proc gives as much as there is room for, until there is no more.
        if (static_cast<std::size_t>(count) < buffer.size())
            break;
    }
    return text;
}

std::optional<core::ProcessIdentity> readIdentity(core::Pid pid) {
    const auto stat = readStat(pid);
    return stat ? std::optional(core::ProcessIdentity{pid, stat->startTime}) : std::nullopt;
}

std::optional<core::ProcessFacts> readProcess(core::Pid pid) {
    const auto before = readStat(pid);
    const auto uids = readUids(pid);
    const auto after = readStat(pid);
    // All reads are of one process, not of two that had the same pid.
    if (!before || !uids || !after || before->startTime != after->startTime)
        return std::nullopt;
    return core::ProcessFacts{{pid, after->startTime}, *uids, after->parent};
}

std::optional<core::ProcessFacts> readPinnedProcess(core::Pid pid) {
    const auto stat = readStat(pid);
    const auto uids = readUids(pid);
    if (!stat || !uids)
        return std::nullopt;
    return core::ProcessFacts{{pid, stat->startTime}, *uids, stat->parent};
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
    return text ? findVariable(*text, name, most) : std::nullopt;
}

std::vector<std::string> readArguments(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "cmdline"), mostOfArguments);
    return text ? splitArguments(*text) : std::vector<std::string>();
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
        const std::string name = entry->path().filename();
        core::Pid pid = 0;
        const auto [last, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (failure == std::errc{} && last == name.data() + name.size())
            pids.push_back(pid);
    }
    return pids;
}

} // namespace genv::service
