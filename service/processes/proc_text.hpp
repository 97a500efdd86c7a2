// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses files of /proc, independently of reading them. The kernel writes these files, but a
// process chooses parts of each: its name, its arguments and its environment.
#pragma once

#include "core/base/process.hpp"
#include "core/ports/observer.hpp"
#include "service/posix/pidfd.hpp"

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
    bool isKernelThread = false;
};

/// Parses fields 2, 4, 9 and 22 of proc_pid_stat(5).
std::optional<ProcStat> parseStat(std::string_view text);

/// Parses "Uid:" of proc_pid_status(5).
std::optional<core::ProcessUids> parseUids(std::string_view text);

/// Parses "Gid:" of proc_pid_status(5).
std::optional<ProcessGids> parseGids(std::string_view text);

/// Parses GENV_ENVIRONMENT_ID and GENV_ENVIRONMENT_CREATED from proc_pid_environ(5). If a variable
/// occurs more than once, the first counts. Returns nothing if there is no id, if it is too long
/// for an id, or if the timestamp is not a number, because then the process belongs to no
/// environment. An empty timestamp counts as missing.
std::optional<core::EnvironmentHint> parseEnvironmentHint(std::string_view text);

/// Returns the arguments in proc_pid_cmdline(5).
std::vector<std::string> splitArguments(std::string_view text);

/// Parses "NSpid:" of proc_pid_status(5): the number of PID namespaces from that of /proc down to
/// that of the process. Returns 1 if the kernel has no PID namespaces.
std::size_t countPidNamespaces(std::string_view text);

/// Parses "Pid:" in the fdinfo of a descriptor from pidfd_open(2). Returns nothing for any other
/// kind of descriptor, 0 for a process outside the PID namespace of /proc, and a negative number if
/// the process has exited.
std::optional<int> parseDescriptorPid(std::string_view text);

} // namespace genv::service
