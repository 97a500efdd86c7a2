// SPDX-License-Identifier: LGPL-2.1-or-later
// The sentences that users read, in the status files for prompts and from genv-notify. Each
// sentence is one line of printable text without a full stop. Foreign text in it is escaped here,
// except for user names, which the caller must escape.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/model/device.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

// `reason` is a text of core::Reason. `actor` is the name of the user who made the request, or
// empty. Devices and processes are ascending, with at least one element unless noted otherwise.

/// Formats a number of things: "1 device", "2 devices". `many` is for plurals without a mere "s".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
/// Formats devices, which are ascending: "GPU 1", "GPUs 0,1", "GPUs 0-3,7".
std::string nameGpus(const std::vector<DeviceIndex>& devices);
/// Formats an amount of memory: "80 GiB", "4 GB", and rounded "1.5 GiB", "512 MiB".
std::string nameMemory(Bytes amount);
/// Formats a time as systemd prints it: "Thu 2026-11-26 11:30:37".
std::string nameTime(WallTime time);
/// The names of processes by PID, as the processes chose them; empty if not known.
using NamedProcesses = std::map<Pid, std::string>;
/// Formats processes: "process 12 (python)", "processes 12 (python), 13". A long list is cut, and
/// ends with the number of the remaining ones.
std::string nameProcesses(const NamedProcesses& processes);
/// Formats processes whose names are not known.
std::string nameProcesses(const std::vector<Pid>& pids);

/// Devices were attached (`attached`) or detached.
std::string describeChange(const std::vector<DeviceIndex>& devices, bool attached,
                           std::string_view reason, const std::string& actor);
/// An environment was ended.
std::string describeEnd(std::string_view reason, const std::string& actor);
/// A waiting request was granted.
std::string describeGrant(const std::vector<DeviceIndex>& devices,
                          std::chrono::microseconds waited);
/// A lease ends soon: that of these devices or, without any, the environment's. The sentence has
/// the end and not the remaining time, since a prompt may show it much later.
std::string describeLeaseEnding(const std::vector<DeviceIndex>& devices, WallTime end);
/// Processes on these devices were sent SIGTERM.
std::string describeTermination(const NamedProcesses& processes,
                                const std::vector<DeviceIndex>& devices, std::string_view reason,
                                const std::string& actor);
/// A rule will act at this moment because of the violation in `message`.
std::string describeWarning(std::string_view message, std::string_view rule,
                            std::optional<WallTime> when);
/// The health of a device changed; `health` is the value of its property.
std::string describeHealth(DeviceIndex device, std::string_view health);
/// Nearly all of a share is used, or it is exceeded.
std::string describeMemory(DeviceIndex device, Bytes used, Bytes share);
/// No process accounts for this part of a device's memory: "37 GiB in use by no process".
std::string describeUnaccounted(Bytes amount);
/// An environment without a shell keeps these devices for these processes.
std::string describeLingering(const std::vector<DeviceIndex>& devices,
                              const std::vector<Pid>& pids);
/// The same for the user of a command that has left these processes behind. `environment` is the
/// id.
std::string describeKept(std::string_view environment, const std::vector<DeviceIndex>& devices,
                         const std::vector<Pid>& pids);
/// The kernel refused a device to a user's processes, since the user does not hold it. Kernels
/// before Linux 6.1 do not report the process, which then has the PID 0.
std::string describeRefusedOpen(DeviceIndex device, const NamedProcesses& processes);
/// How the user can get that device. If others hold it, the user has to wait.
std::string adviseOnRefusedOpen(DeviceIndex device, bool isHeldByOthers);
/// A device is now shared with another environment, which belongs to `user`.
std::string describeSharing(DeviceIndex device, std::string_view environment,
                            const std::string& user);

} // namespace genv::core
