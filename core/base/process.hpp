// SPDX-License-Identifier: LGPL-2.1-or-later
// The data that genv has about a process. A PID alone does not identify a process, since PIDs are
// recycled. genv always identifies a process by its PID together with its start time.
#pragma once

#include "core/base/time.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

using Pid = std::uint32_t;
using Uid = std::uint32_t;
using Gid = std::uint32_t;

/// The number of clock ticks per second: USER_HZ, which Linux reports to programs as 100 on every
/// architecture with GPU drivers.
inline constexpr std::uint64_t clockTicksPerSecond = 100;

/// Identifies one process until the machine reboots.
struct ProcessIdentity {
    Pid pid = 0;
    /// Clock ticks since boot: field 22 of proc_pid_stat(5). For a process that cannot be read, a
    /// unique number that the service assigns, starting at `unreadStart`.
    std::uint64_t startTime = 0;

    static constexpr std::uint64_t unreadStart = std::uint64_t{1} << 63;

    /// Returns the end of the clock tick in which the process started. The process started before
    /// this moment.
    [[nodiscard]] BootTime startedBefore() const {
        constexpr std::chrono::microseconds tick{1'000'000 / clockTicksPerSecond};
        return BootTime{tick * static_cast<std::int64_t>(startTime + 1)};
    }

    friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The four uids of a process, as in "Uid:" of proc_pid_status(5).
struct ProcessUids {
    Uid real = 0;
    Uid effective = 0;
    Uid saved = 0;
    Uid filesystem = 0;

    /// Returns whether all four are this uid. A process that could still switch to another user
    /// does not belong to this user alone.
    [[nodiscard]] bool areAll(Uid uid) const {
        return real == uid && effective == uid && saved == uid && filesystem == uid;
    }
    /// Returns whether each of them is this uid or root's.
    [[nodiscard]] bool areOnly(Uid uid) const {
        const auto isIt = [&](Uid each) { return each == uid || each == 0; };
        return isIt(real) && isIt(effective) && isIt(saved) && isIt(filesystem);
    }
    /// Returns whether any of them is root's: the process has root's privileges, or can get them.
    [[nodiscard]] bool hasRoot() const {
        return real == 0 || effective == 0 || saved == 0 || filesystem == 0;
    }
    /// Returns the owner of the process as a viewer should see it: the viewer if all uids are the
    /// viewer's, otherwise another user.
    [[nodiscard]] Uid ownerFor(Uid viewer) const {
        for (const Uid uid : {real, effective, saved, filesystem}) {
            if (uid != viewer)
                return uid;
        }
        return viewer;
    }
    friend bool operator==(const ProcessUids&, const ProcessUids&) = default;
};

/// The properties of a process at one moment.
struct ProcessFacts {
    ProcessIdentity identity;
    ProcessUids uids;
    Pid parent = 0;
    /// Its name, which the process can choose itself; by default the first 15 bytes of its
    /// program's name. Field 2 of proc_pid_stat(5).
    std::string command{};
    bool isKernelThread = false; ///< it has no program, and never ends
};

/// A process with its ancestors, parent first, without PID 1. Excessively long chains are cut.
struct Lineage {
    ProcessFacts facts;
    std::vector<ProcessIdentity> ancestors;
};

} // namespace genv::core
