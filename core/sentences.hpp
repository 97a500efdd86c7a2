// SPDX-License-Identifier: LGPL-2.1-or-later
// What people are told, word for word, by the status files that prompts read and by genv-notify.
// Each sentence is one line of printable text without its full stop; what it quotes of others is
// escaped here, but for the names of users, which whoever passes them has escaped.
#pragma once

#include "core/bytes.hpp"
#include "core/device.hpp"
#include "core/process.hpp"
#include "core/time.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace genv::core {

// Reasons are the texts of core::Reason. `actor` is the name of who asked, where somebody did.
// Devices and processes are ascending, and at least one where nothing else is said.

/// "GPU 1", "GPUs 0,1".
std::string nameGpus(const std::vector<DeviceIndex>& devices);
/// The names of processes, as they chose them, by pid; a name that is empty is not known.
using NamedProcesses = std::map<Pid, std::string>;
/// "process 12 (python)", "processes 12 (python), 13"; of many the first ones and how many more.
std::string nameProcesses(const NamedProcesses& processes);
/// The same of processes whose names are not known.
std::string nameProcesses(const std::vector<Pid>& pids);

/// Devices came (`attached`) or went.
std::string sayChange(const std::vector<DeviceIndex>& devices, bool attached,
                      std::string_view reason, const std::string& actor);
/// An environment was ended.
std::string sayEnd(std::string_view reason, const std::string& actor);
/// What somebody waited for came.
std::string sayGrant(const std::vector<DeviceIndex>& devices, std::chrono::microseconds waited);
/// A lease ends soon: that of these devices or, without any, the environment's. It says when and
/// not how soon, as a prompt may come much later.
std::string sayLeaseEnding(const std::vector<DeviceIndex>& devices, WallTime end);
/// Processes on these devices were told to end.
std::string sayTermination(const NamedProcesses& processes, const std::vector<DeviceIndex>& devices,
                           std::string_view reason, const std::string& actor);
/// A rule acts at a moment, because of what the message says.
std::string sayWarning(std::string_view message, std::string_view rule,
                       std::optional<WallTime> when);
/// A device's health, as its property has it, is another one.
std::string sayHealth(DeviceIndex device, std::string_view health);
/// Nearly all of a share, or more than that, is used.
std::string sayMemory(DeviceIndex device, Bytes used, Bytes share);
/// An environment without a shell keeps these devices for these processes.
std::string sayLingering(const std::vector<DeviceIndex>& devices, const std::vector<Pid>& pids);
/// The kernel refused a device to a user's processes, since the user does not hold it. Kernels
/// before Linux 6.1 do not tell the process, which has the pid 0 then.
std::string sayRefusedOpen(DeviceIndex device, const NamedProcesses& processes);
/// How the user gets that device. A device that others hold takes a wait.
std::string adviseOnRefusedOpen(DeviceIndex device, bool isHeldByOthers);
/// A device is shared with another environment, of somebody, from now on.
std::string sayShared(DeviceIndex device, std::string_view environment, const std::string& user);

} // namespace genv::core
