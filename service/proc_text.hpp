// SPDX-License-Identifier: LGPL-2.1-or-later
// What files of /proc say, apart from where they are read. The kernel writes them, but parts of
// each are what a process chose for itself: its name, its arguments, its environment.
#pragma once

#include "core/process.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::service {

struct ProcStat {
    core::Pid parent = 0;
    std::uint64_t startTime = 0; ///< clock ticks since boot
};

/// Fields 4 and 22 of proc_pid_stat(5).
std::optional<ProcStat> parseStat(std::string_view text);

/// "Uid:" of proc_pid_status(5).
std::optional<core::ProcessUids> parseUids(std::string_view text);

/// The value of a variable in proc_pid_environ(5), the first of several; nothing when it is not
/// there or longer than `most`.
std::optional<std::string> findVariable(std::string_view text, const std::string& name,
                                        std::size_t most);

/// The words of proc_pid_cmdline(5).
std::vector<std::string> splitArguments(std::string_view text);

/// "Pid:" in the fdinfo of a descriptor from pidfd_open(2): 0 in that of another kind, negative
/// once the process is gone.
int parseDescriptorPid(std::string_view text);

} // namespace genv::service
