// SPDX-License-Identifier: LGPL-2.1-or-later
// What files of /proc say, apart from where they are read. The kernel writes them, but parts of
// each are what a process chose for itself: its name, its arguments, its environment.
#pragma once

#include "core/ports/observer.hpp"
#include "core/process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

struct ProcStat {
    std::string command;
    core::Pid parent = 0;
    std::uint64_t startTime = 0; ///< clock ticks since boot
};

/// Fields 2, 4 and 22 of proc_pid_stat(5).
std::optional<ProcStat> parseStat(std::string_view text);

/// "Uid:" of proc_pid_status(5).
std::optional<core::ProcessUids> parseUids(std::string_view text);

/// GENV_ENVIRONMENT_ID and GENV_ENVIRONMENT_CREATED in proc_pid_environ(5), of each the first of
/// several. Nothing where there is no id, or one that is too long for an id, and where the stamp is
/// not a number: it is no environment's then. An empty stamp counts as none.
std::optional<core::EnvironmentHint> parseEnvironmentHint(std::string_view text);

/// The words of proc_pid_cmdline(5).
std::vector<std::string> splitArguments(std::string_view text);

/// "Pid:" in the fdinfo of a descriptor from pidfd_open(2): 0 in that of another kind, negative
/// once the process is gone.
int parseDescriptorPid(std::string_view text);

} // namespace genv::service
