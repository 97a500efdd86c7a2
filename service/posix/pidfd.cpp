// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/posix/pidfd.hpp"

#include "core/base/error.hpp"
#include "core/base/glibc_pidfd.hpp"
#include "service/posix/shortage.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <system_error>

namespace genv::service {

namespace {

// The first version of struct pidfd_info in linux/pidfd.h, which the headers of Linux 6.1 lack.
struct InfoV0 {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::uint32_t pid;
    std::uint32_t threadGroup;
    std::uint32_t parent;
    std::uint32_t realUid;
    std::uint32_t realGid;
    std::uint32_t effectiveUid;
    std::uint32_t effectiveGid;
    std::uint32_t savedUid;
    std::uint32_t savedGid;
    std::uint32_t filesystemUid;
    std::uint32_t filesystemGid;
    std::uint32_t spare;
};
static_assert(sizeof(InfoV0) == 64);

constexpr unsigned long getInfo = _IOWR(0xFF, 11, InfoV0);
constexpr std::uint64_t infoPid = 1U << 0U;
constexpr std::uint64_t infoCredentials = 1U << 1U;

} // namespace

void failForShortage(core::Pid pid, int error) {
    core::fail(core::ErrorCode::LimitsExceeded,
               "the service has no room left to watch process {}: {}; try again later", pid,
               std::generic_category().message(error));
}

std::optional<core::Uid> ownerOf(core::Pid pid) {
    struct stat folder {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &folder) < 0)
        return std::nullopt;
    return folder.st_uid;
}

Pidfd Pidfd::open(core::Pid pid) {
    if (pid == 0 || pid > INT_MAX)
        core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
    core::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(pid), 0));
    if (pidfd.get() < 0 && isShortage(errno))
        failForShortage(pid, errno);
    if (pidfd.get() < 0)
        core::fail(core::ErrorCode::NoSuchProcess, "there is no process {}", pid);
    return {std::move(pidfd), pid};
}

// Does not use signal 0, which an unreaped zombie still accepts.
bool Pidfd::hasExited() const {
    pollfd waiting{get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) != 0;
}

bool Pidfd::hasUids(const core::ProcessUids& uids) const {
    if (const auto all = info())
        return all->uids == uids;
    // As long as the process lives, the folder of its PID in /proc belongs to it.
    const auto owner = ownerOf(pid_);
    return owner && !hasExited() && *owner == uids.effective;
}

bool Pidfd::signal(core::TerminationSignal signal) const {
    const int number = signal == core::TerminationSignal::Kill ? SIGKILL : SIGTERM;
    return !hasExited() && ::pidfd_send_signal(get(), number, nullptr, 0) == 0;
}

std::optional<PidfdInfo> Pidfd::info() const {
    InfoV0 info{};
    info.mask = infoPid | infoCredentials;
    if (::ioctl(get(), getInfo, &info) < 0 || (info.mask & infoCredentials) == 0)
        return std::nullopt;
    return PidfdInfo{{info.realUid, info.effectiveUid, info.savedUid, info.filesystemUid},
                     info.parent,
                     {info.realGid, info.effectiveGid, info.savedGid, info.filesystemGid}};
}

std::optional<PidfdInfo> Pidfd::infoOrOwner() const {
    if (auto all = info())
        return all;
    const auto owner = ownerOf(pid_);
    if (!owner || hasExited())
        return std::nullopt;
    return PidfdInfo{{*owner, *owner, *owner, *owner}, 0, {}};
}

} // namespace genv::service
