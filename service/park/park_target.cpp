// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/park/park_target.hpp"

#include "core/base/error.hpp"
#include "service/processes/proc_files.hpp"
#include "service/processes/proc_text.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <utility>

namespace genv::service {

namespace {

using core::ParkingFault;

constexpr std::size_t maxProcStatus = 16384;

// Returns whether a process is in the same namespace of a kind as this one. Returns nothing if this
// process may not know.
std::optional<bool> sharesNamespace(core::Pid pid, const char* kind) {
    struct stat own {};
    struct stat its {};
    if (::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &own) < 0 ||
        ::stat(fmt::format("/proc/{}/ns/{}", pid, kind).c_str(), &its) < 0)
        return std::nullopt;
    return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

} // namespace

std::optional<ParkTarget> ParkTarget::open(const core::ParkingTarget& target) {
    try {
        return ParkTarget(Pidfd::open(target.process.pid), target);
    } catch (const core::Error& error) {
        if (error.code() != core::ErrorCode::NoSuchProcess)
            throw;
        return std::nullopt;
    }
}

std::variant<ParkOwner, ParkingFault> ParkTarget::owner() const {
    auto info = process_.info();
    if (!info) { // before Linux 6.13. Reading this file waits for no lock
        const auto text = readCapped(fmt::format("/proc/{}/status", pid()), maxProcStatus);
        const auto uids = text ? parseUids(*text) : std::nullopt;
        const auto gids = text ? parseGids(*text) : std::nullopt;
        if (hasExited())
            return ParkingFault::Gone;
        if (!uids || !gids)
            return ParkingFault::Helper;
        info = PidfdInfo{*uids, 0, *gids};
    }
    if (!info->uids.areAll(target_.uid) || !info->gids.areAll(info->gids.real))
        return ParkingFault::Owner;
    return ParkOwner{info->uids.real, info->gids.real};
}

std::optional<ParkingFault> ParkTarget::objection(const ParkOwner& owner) const {
    const auto identity = readIdentity(pid());
    if (hasExited() || (identity && *identity != target_.process))
        return ParkingFault::Gone;
    if (!identity)
        return ParkingFault::Helper;
    const auto now = this->owner();
    if (const auto* fault = std::get_if<ParkingFault>(&now))
        return *fault;
    if (std::get<ParkOwner>(now) != owner)
        return ParkingFault::Owner;
    for (const char* kind : {"user", "pid"}) {
        const auto shares = sharesNamespace(pid(), kind);
        if (!shares)
            return hasExited() ? ParkingFault::Gone : ParkingFault::NotPermitted;
        if (!*shares)
            return ParkingFault::Container;
    }
    return std::nullopt;
}

} // namespace genv::service
