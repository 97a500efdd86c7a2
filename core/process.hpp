// SPDX-License-Identifier: LGPL-2.1-or-later
// What genv knows of a process. A pid alone names nothing, since it is recycled: a process is its
// pid together with its start time, everywhere in genv.
#pragma once

#include "core/time.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

using Pid = std::uint32_t;
using Uid = std::uint32_t;

/// How many clock ticks a second has: USER_HZ, which Linux shows programs as 100 on every
/// architecture that there are GPU drivers for.
inline constexpr std::uint64_t clockTicksPerSecond = 100;

/// One process for as long as the machine is up.
struct ProcessIdentity {
    Pid pid = 0;
    /// Clock ticks since boot: field 22 of proc_pid_stat(5). Of a process that cannot be read, a
    /// number of the service's own, from `unreadStart` on, by which it is told from others.
    std::uint64_t startTime = 0;

    static constexpr std::uint64_t unreadStart = std::uint64_t{1} << 63;

    /// The end of the clock tick in which the process started: it started before this moment.
    [[nodiscard]] BootTime startedBefore() const {
        constexpr std::chrono::microseconds tick{1'000'000 / clockTicksPerSecond};
        return BootTime{tick * static_cast<std::int64_t>(startTime + 1)};
    }

    friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The four uids of a process, as "Uid:" in proc_pid_status(5).
struct ProcessUids {
    Uid real = 0;
    Uid effective = 0;
    Uid saved = 0;
    Uid filesystem = 0;

    /// Whether every one of them is this uid: a process that could still become another user is not
    /// its own.
    [[nodiscard]] bool areAll(Uid uid) const {
        return real == uid && effective == uid && saved == uid && filesystem == uid;
    }
    /// Whether each of them is this uid or root's.
    [[nodiscard]] bool areOnly(Uid uid) const {
        const auto isIt = [&](Uid each) { return each == uid || each == 0; };
        return isIt(real) && isIt(effective) && isIt(saved) && isIt(filesystem);
    }
    /// Whether any of them is root's: it has root's powers, or may take them.
    [[nodiscard]] bool hasRoot() const {
        return real == 0 || effective == 0 || saved == 0 || filesystem == 0;
    }
    /// Whose process it is to somebody: theirs when every uid is, else another's.
    [[nodiscard]] Uid ownerFor(Uid viewer) const {
        for (const Uid uid : {real, effective, saved, filesystem}) {
            if (uid != viewer)
                return uid;
        }
        return viewer;
    }
    friend bool operator==(const ProcessUids&, const ProcessUids&) = default;
};

/// A process as seen at one moment.
struct ProcessFacts {
    ProcessIdentity identity;
    ProcessUids uids;
    Pid parent = 0;
    /// Its name, as the process chose it: the first 15 bytes of its program's, or anything. Field 2
    /// of proc_pid_stat(5).
    std::string command{};
};

/// A process with its ancestors, parent first, without pid 1; cut where a chain is absurdly long.
struct Lineage {
    ProcessFacts facts;
    std::vector<ProcessIdentity> ancestors;
};

} // namespace genv::core
