// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/processes/proc_files.hpp"

#include "core/base/descriptor.hpp"
#include "service/processes/proc_text.hpp"

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
#include <limits>
#include <string_view>

namespace genv::service {

namespace {

constexpr std::size_t maxStatSize = 4096;
constexpr std::size_t maxStatusSize = 16384;
// One line for each of a dozen hierarchies, with a path of 4096 bytes at most.
constexpr std::size_t maxCgroupSize = 1 << 16;
constexpr std::size_t maxEnvironmentSize = 1 << 20;
constexpr std::size_t maxArgumentsSize = 1 << 16;

std::string procPath(core::Pid pid, std::string_view file) {
    return fmt::format("/proc/{}/{}", pid, file);
}

std::optional<std::string> readFromStart(int file, std::size_t maxSize) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (text.size() < maxSize) {
        const ssize_t count =
            ::pread(file, buffer.data(), std::min(buffer.size(), maxSize - text.size()),
                    static_cast<off_t>(text.size()));
        if (count < 0)
            return std::nullopt;
        text.append(buffer.data(), static_cast<std::size_t>(count));
        // /proc fills the buffer until the text ends.
        if (static_cast<std::size_t>(count) < buffer.size())
            break;
    }
    return text;
}

std::optional<std::string> readCappedAt(int folder, const char* path, std::size_t maxSize) {
    const core::Descriptor file(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return file.isOpen() ? readFromStart(file.get(), maxSize) : std::nullopt;
}

std::optional<ProcStat> statOf(const std::optional<std::string>& text) {
    return text ? parseStat(*text) : std::nullopt;
}

std::optional<ProcStat> readStat(core::Pid pid) {
    return statOf(readCapped(procPath(pid, "stat"), maxStatSize));
}

std::optional<core::ProcessUids> uidsOf(const std::optional<std::string>& text) {
    return text ? parseUids(*text) : std::nullopt;
}

std::optional<core::ProcessUids> readUids(core::Pid pid) {
    return uidsOf(readCapped(procPath(pid, "status"), maxStatusSize));
}

// Returns a file's metadata without a request to the process behind a file system, which may belong
// to a user.
std::optional<struct statx> look(const std::string& path, int flags) {
    struct statx file {};
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | flags, STATX_BASIC_STATS, &file) < 0)
        return std::nullopt;
    return file;
}

bool onlyRootWrites(const struct statx& file) {
    return file.stx_uid == 0 && (file.stx_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Returns the file at this path in this service's own mount namespace if only root can have put it
// there. Returns nothing if the path has a link or a folder that another user may write to.
std::optional<struct statx> lookAtInstalled(const std::filesystem::path& path) {
    std::filesystem::path part;
    std::optional<struct statx> file;
    for (const std::filesystem::path& name : path) {
        if (file && !S_ISDIR(file->stx_mode))
            return std::nullopt;
        part /= name;
        file = look(part, AT_SYMLINK_NOFOLLOW);
        if (!file || !onlyRootWrites(*file))
            return std::nullopt;
    }
    return file && S_ISREG(file->stx_mode) ? file : std::nullopt;
}

// Returns whether a process runs the program with this name that root installed. The process can
// choose the path, because in its own mount namespace any file may have it. Therefore its
// executable must be the file that has this path in the service's namespace.
bool runsInstalled(core::Pid pid, std::string_view program) {
    const std::string link = procPath(pid, "exe");
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    if (length <= 0)
        return false;
    const std::filesystem::path path(
        std::string_view(target.data(), static_cast<std::size_t>(length)));
    if (!path.is_absolute() || path.filename() != program)
        return false;
    const auto running = look(link, 0);
    const auto installed = lookAtInstalled(path);
    return running && installed && running->stx_ino == installed->stx_ino &&
           running->stx_dev_major == installed->stx_dev_major &&
           running->stx_dev_minor == installed->stx_dev_minor;
}

} // namespace

std::optional<std::string> readCapped(const std::string& path, std::size_t maxSize) {
    return readCappedAt(AT_FDCWD, path.c_str(), maxSize);
}

std::optional<core::ProcessIdentity> readIdentity(core::Pid pid) {
    const auto stat = readStat(pid);
    return stat ? std::optional(core::ProcessIdentity{pid, stat->startTime}) : std::nullopt;
}

std::optional<core::ProcessFacts> readProcess(core::Pid pid) {
    // The folder stays that of this process: after the process has ended, nothing can be opened in
    // it, even if the PID is used again. So all reads concern one process.
    const core::Descriptor folder(
        ::open(procPath(pid, "").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0)
        return std::nullopt;
    const auto stat = statOf(readCappedAt(folder.get(), "stat", maxStatSize));
    const auto uids =
        stat ? uidsOf(readCappedAt(folder.get(), "status", maxStatusSize)) : std::nullopt;
    if (!uids)
        return std::nullopt;
    return core::ProcessFacts{
        {pid, stat->startTime}, *uids, stat->parent, stat->command, stat->isKernelThread};
}

ProcLogin readLogin(core::Pid pid) {
    constexpr core::Uid nobody = std::numeric_limits<core::Uid>::max(); // the value for no login
    const auto text = readCapped(fmt::format("/proc/{}/loginuid", pid), 32);
    core::Uid uid = nobody;
    if (text)
        std::from_chars(text->data(), text->data() + text->size(), uid);
    return {uid == nobody ? std::nullopt : std::optional(uid)};
}

std::optional<ProcPidNamespace> readPidNamespace(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "status"), maxStatusSize);
    return text ? std::optional(ProcPidNamespace{countPidNamespaces(*text) == 1}) : std::nullopt;
}

std::optional<ProcStat> AncestorFiles::read(core::Pid pid) {
    if (const auto known = open_.find(pid); known != open_.end()) {
        if (auto stat = statOf(readFromStart(known->second.get(), maxStatSize)))
            return stat;
        open_.erase(known); // it has ended
    }
    core::Descriptor file(::open(procPath(pid, "stat").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.isOpen())
        return std::nullopt;
    auto stat = statOf(readFromStart(file.get(), maxStatSize));
    if (open_.size() >= maxOpen)
        open_.clear();
    open_.insert_or_assign(pid, std::move(file));
    return stat;
}

std::vector<core::ProcessIdentity> readAncestors(const core::ProcessFacts& process,
                                                 AncestorFiles& files) {
    std::vector<core::ProcessIdentity> ancestors;
    core::Pid pid = process.parent;
    std::uint64_t childStart = process.identity.startTime;
    while (pid > 1 && ancestors.size() < maxAncestors) {
        const auto stat = files.read(pid);
        // A parent is older than its child. A younger process has reused the PID of a parent that
        // has exited.
        if (!stat || stat->startTime > childStart)
            break;
        ancestors.push_back({pid, stat->startTime});
        childStart = stat->startTime;
        pid = stat->parent;
    }
    return ancestors;
}

std::optional<core::Lineage> readLineage(core::Pid pid, AncestorFiles& files) {
    const auto facts = readProcess(pid);
    if (!facts)
        return std::nullopt;
    return core::Lineage{*facts, readAncestors(*facts, files)};
}

std::optional<ProcClaims> readClaims(core::Pid pid) {
    ProcClaims claims;
    claims.environmentHint = readEnvironmentHint(pid);
    claims.userNamespaceOwner = readUserNamespaceOwner(pid);
    claims.isMpsServer = isMpsServer(pid);
    claims.slurm = readSlurmCgroup(pid);
    const auto identity = readIdentity(pid);
    if (!identity)
        return std::nullopt;
    claims.identity = *identity;
    return claims;
}

std::optional<core::EnvironmentHint> readEnvironmentHint(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "environ"), maxEnvironmentSize);
    return text ? parseEnvironmentHint(*text) : std::nullopt;
}

std::optional<core::SlurmCgroup> readSlurmCgroup(core::Pid pid) {
    const auto text = readCapped(procPath(pid, "cgroup"), maxCgroupSize);
    return text ? core::parseSlurmCgroup(*text) : std::nullopt;
}

ProcArguments readArguments(core::Pid pid) {
    return {readCapped(procPath(pid, "cmdline"), maxArgumentsSize).value_or("")};
}

std::optional<core::Uid> readUserNamespaceOwner(core::Pid pid) {
    struct stat own {};
    struct stat current {};
    const std::string path = procPath(pid, "ns/user");
    if (::stat("/proc/self/ns/user", &own) < 0 || ::stat(path.c_str(), &current) < 0)
        return std::nullopt;
    // Nearly every process is in the service's own.
    if (current.st_ino == own.st_ino && current.st_dev == own.st_dev)
        return std::nullopt;
    std::optional<core::Uid> outermost;
    core::Descriptor ns(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    // The kernel allows at most 32 nested namespaces, and shows only those below this service's
    // own.
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
        ns = core::Descriptor(::ioctl(ns.get(), NS_GET_PARENT));
    }
    return std::nullopt;
}

bool isMpsServer(core::Pid pid) {
    if (!runsInstalled(pid, "nvidia-cuda-mps-server"))
        return false;
    const auto before = readStat(pid);
    if (!before || !runsInstalled(before->parent, "nvidia-cuda-mps-control"))
        return false;
    const auto uids = readUids(before->parent);
    const auto after = readStat(pid);
    // A process never regains a former parent, so all reads concern one parent.
    return uids && uids->areAll(0) && after && after->startTime == before->startTime &&
           after->parent == before->parent;
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
